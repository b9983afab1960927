import { render } from 'preact';
import { followAddress } from './data/address.ts';
import { openSession, session } from './data/session.ts';
import { SignIn } from './pages/sign-in.tsx';
import { later } from './parts/later.tsx';
import { Failure, Loading } from './parts/notice.tsx';
import { Shell } from './parts/shell.tsx';

const Shared = later(async () => (await import('./pages/shared-overview.tsx')).Shared);
const Unlock = later(async () => (await import('./pages/shared-overview.tsx')).Unlock);

function Dashboard() {
  const { value } = session;
  switch (value.kind) {
    case 'unknown':
      return <Loading rows={3} />;
    case 'away':
      return <Failure error={value.error} retry={() => void openSession()} />;
    case 'signed-out':
      return <SignIn />;
    case 'signed-in':
      return <Shell />;
    case 'locked':
      return <Unlock link={value.link} />;
    case 'shared':
      return <Shared site={value.site} />;
  }
}

const root = document.querySelector('#app');
if (root !== null) {
  followAddress();
  render(<Dashboard />, root);
  // It settles in its own state, whatever the service answers.
  void openSession();
}
