import { useSignal } from '@preact/signals';
import { type SignInProof, session, signIn } from '../data/session.ts';

type Way = 'client' | 'user';

/** Signs in a client of the API by its id and secret, or a person by e-mail and passphrase. */
export function SignIn() {
  const way = useSignal<Way>('client');
  const isSending = useSignal(false);
  const { value } = session;
  const message = useSignal(value.kind === 'signed-out' ? value.message : undefined);
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const given = new FormData(event.currentTarget);
    const text = (name: string) => String(given.get(name) ?? '');
    const proof: SignInProof =
      way.value === 'client'
        ? { clientId: text('username').trim(), clientSecret: text('password').trim() }
        : { email: text('username').trim(), passphrase: text('password') };
    isSending.value = true;
    message.value = undefined;
    try {
      await signIn(proof);
    } catch (error) {
      message.value = error instanceof Error ? error.message : String(error);
    }
    isSending.value = false;
  };
  const isClient = way.value === 'client';
  return (
    <main class="sign-in" id="main">
      <h1>
        <span class="mark" aria-hidden="true" />
        footfall
      </h1>
      <form class="card form" onSubmit={onSubmit} key={way.value}>
        <h2>Sign in</h2>
        {message.value !== undefined && (
          <p class="form-error" role="alert">
            {message.value}
          </p>
        )}
        <label>
          {isClient ? 'Client id' : 'E-mail'}
          <input
            name="username"
            inputMode={isClient ? 'text' : 'email'}
            autocomplete="username"
            spellcheck={false}
            required
          />
        </label>
        <label>
          {isClient ? 'Client secret' : 'Passphrase'}
          <input name="password" type="password" autocomplete="current-password" required />
        </label>
        <div class="form-end">
          <button
            type="button"
            class="plain"
            onClick={() => {
              way.value = isClient ? 'user' : 'client';
              message.value = undefined;
            }}
          >
            {isClient ? 'Use e-mail and passphrase' : 'Use client id and secret'}
          </button>
          <button type="submit" class="button main" disabled={isSending.value}>
            {isSending.value ? 'Signing in…' : 'Sign in'}
          </button>
        </div>
      </form>
      <p class="quiet">
        {isClient
          ? 'The first start prints id and secret of a root client, and a link that signs you in once. A read client sees its own site.'
          : 'Accounts of people are created by a root client.'}
      </p>
      <p>
        <a href="help">What this service serves</a> · <a href="documentation">API documentation</a>
      </p>
    </main>
  );
}
