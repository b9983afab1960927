import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { count, percent, time } from '../../data/format.ts';
import { site } from '../../data/session.ts';
import { Loading } from '../../parts/notice.tsx';

/** The answer of `/healthz/ready` to an authorized caller. */
interface Readiness {
  readonly ready?: boolean;
  readonly draining?: boolean;
  readonly dependencies?: readonly {
    readonly name: string;
    readonly address: string;
    readonly up: boolean;
    readonly since: string;
  }[];
  /** Messages in the bus that wait for the store. */
  readonly backlog?: { readonly messages: number; readonly usedShare: number };
  readonly disk?: { readonly state: string; readonly freeBytes: number; readonly since: string };
  readonly warnings?: readonly { readonly message?: string }[];
}

const EVERY_MS = 5_000;
const GIB = 1_073_741_824;
/** From this share on, the bus's backlog is worth a warning. */
const BUS_FULL_SOON = 0.5;

/** Shows if the service is healthy, and which resource runs out first. */
export function Health() {
  const state = useSignal<{ readonly isReady: boolean; readonly shown: Readiness } | 'away' | undefined>(
    undefined,
  );
  const { timezone = 'UTC' } = site.value ?? {};
  useEffect(() => {
    let isOver = false;
    const look = async () => {
      const response = await fetch('healthz/ready', { credentials: 'same-origin' }).catch(() => undefined);
      const shown: unknown = await response?.json().catch(() => ({}));
      if (isOver) return;
      state.value = response === undefined ? 'away' : { isReady: response.ok, shown: shown as Readiness };
    };
    void look();
    const timer = setInterval(() => void look(), EVERY_MS);
    return () => {
      isOver = true;
      clearInterval(timer);
    };
  }, []);
  const { value } = state;
  if (value === undefined) return <Loading rows={3} />;
  if (value === 'away')
    return (
      <section class="card" aria-label="System health">
        <p role="alert">The service cannot be reached.</p>
      </section>
    );
  const { isReady, shown } = value;
  return (
    <section class="card" aria-labelledby="health-title">
      <h2 id="health-title">System health</h2>
      <p role="status" class="health-state">
        <span class={isReady ? 'dot' : 'dot off'} aria-hidden="true" />{' '}
        <strong>{isReady ? 'Ready' : shown.draining ? 'Stopping' : 'Not ready'}</strong>
      </p>
      <dl class="facts wide">
        {shown.dependencies?.map(({ name, address, up, since }) => (
          <div key={name}>
            <dt>
              {name} at {address}
            </dt>
            <dd>
              {up ? 'reached' : 'away'} <span class="quiet">since {time(since, timezone)}</span>
            </dd>
          </div>
        ))}
        {shown.backlog !== undefined && (
          <div>
            <dt>on the way to the store</dt>
            <dd>
              {count(shown.backlog.messages)} {shown.backlog.messages === 1 ? 'message' : 'messages'}{' '}
              <span class="quiet">{percent(shown.backlog.usedShare * 100)} of the room in the bus</span>
            </dd>
          </div>
        )}
        {shown.disk !== undefined && (
          <div>
            <dt>disk</dt>
            <dd>{(shown.disk.freeBytes / GIB).toFixed(1)} GiB free</dd>
          </div>
        )}
      </dl>
      {shown.dependencies !== undefined && <p>{runsOutFirst(shown)}</p>}
      <ul>
        {shown.warnings?.map(({ message }) => (
          <li key={message} class="hint">
            {message}
          </li>
        ))}
      </ul>
      {shown.dependencies === undefined && (
        <p class="quiet">The details are for requests with the operator’s token.</p>
      )}
      <p class="quiet">
        Lag, requests in flight, rejections and the age of checkpoints are metrics, at <code>/metrics</code>{' '}
        of each process.
      </p>
    </section>
  );
}

/** Returns the resource that runs out first if nothing changes, in words. */
function runsOutFirst({ disk, backlog }: Readiness): string {
  if (disk !== undefined && disk.state !== 'free')
    return disk.state === 'full'
      ? 'The disk is full: events are rejected until there is room.'
      : 'The disk runs out first.';
  const used = backlog?.usedShare ?? 0;
  if (used >= 1) return 'The bus is full: events are rejected until the store has taken some.';
  return used > BUS_FULL_SOON
    ? 'The bus runs out first: the store takes events more slowly than they arrive.'
    : 'Nothing runs out soon.';
}
