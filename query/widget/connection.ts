import type { Channel, WidgetPage } from './page.ts';

declare const WebSocket: WidgetPage['WebSocket'];
declare const EventSource: WidgetPage['EventSource'];

/** Before the first new attempt; each further one waits twice as long. */
const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 60_000;
const POLL_EVERY_MS = 10_000;
const POLLS_MAX = 30;
const OPEN_MAX_MS = 10_000;
/** Longest silence of a connection; after it, the connection may be dead without having been closed. */
const SILENCE_MAX_MS = 300_000;

/** The ways to a number, in the order in which they are tried. After one that brought nothing comes the next one. */
const SOCKET = 0;
const EVENTS = 1;
const POLLS = 2;

/**
 * Calls `told` with the number of a site whenever it may have changed, until the returned function is called. `url` is the site's
 * address below `/live`; `query` begins with `?` or is empty. Lost connections are reopened, with growing, random pauses.
 */
export function follow(url: string, query: string, told: (visitors: number) => void): () => void {
  let way = SOCKET;
  let failures = 0;
  let polls = 0;
  let channel: Channel | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;

  const take = (text: string) => {
    const { visitors } = JSON.parse(text);
    if (isOver || typeof visitors !== 'number') return;
    failures = 0;
    told(visitors);
  };

  const later = (act: () => void, ms: number) => {
    clearTimeout(timer);
    timer = setTimeout(act, ms);
  };

  const leave = () => {
    const left = channel;
    channel = undefined;
    if (!left) return;
    left.onopen = left.onmessage = left.onerror = left.onclose = null;
    left.close();
  };

  const fail = () => {
    leave();
    if (isOver) return;
    // A connection that has worked is worth another one.
    way = failures ? (way + 1) % 3 : SOCKET;
    const pauseMs = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** failures);
    failures += 1;
    later(connect, pauseMs * (0.5 + Math.random() / 2));
  };

  const poll = async () => {
    try {
      const response = await fetch(`${url}.json${query}`);
      if (!response.ok) return fail();
      take(await response.text());
      polls += 1;
      if (isOver) return;
      if (polls % POLLS_MAX) later(poll, POLL_EVERY_MS);
      else {
        way = SOCKET;
        connect();
      }
    } catch {
      fail();
    }
  };

  const connect = () => {
    if (way === POLLS) return void poll();
    try {
      channel =
        way === EVENTS
          ? new EventSource(`${url}/events${query}`)
          : new WebSocket(url.replace(/^http/, 'ws') + query);
    } catch {
      return fail();
    }
    const listen = () => later(fail, SILENCE_MAX_MS);
    channel.onopen = listen;
    channel.onmessage = ({ data }) => {
      listen();
      take(data);
    };
    channel.onerror = channel.onclose = fail;
    later(fail, OPEN_MAX_MS);
  };

  connect();
  return () => {
    isOver = true;
    clearTimeout(timer);
    leave();
  };
}
