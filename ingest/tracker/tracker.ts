import type { Browser } from './browser.ts';
import { startTracker } from './commands.ts';
import { EARLY_COMMANDS_MAX } from './limits.ts';
import { optionsOf, type TrackerOptions } from './options.ts';

declare const document: Browser['document'];
declare const window: Browser['window'];

type Command = [name: string, ...rest: unknown[]];

/** Replaces the stub and runs the commands that it collected. Does nothing on a page that has the script already. */
function install(): void {
  // biome-ignore lint/complexity/useOptionalChain: what es2018 makes of it is longer
  const queue = (window.op && window.op.q) || [];
  if (queue.push !== [].push) return;
  const script = document.currentScript;
  let commands: Readonly<Record<string, (...rest: never[]) => unknown>>;
  let isDebugging: unknown;

  // No error of the script reaches the page.
  const attempt = async (act: () => unknown) => {
    try {
      return await act();
    } catch (error) {
      // biome-ignore lint/suspicious/noConsole: the page asked for it
      if (isDebugging) console.log(error);
    }
  };

  const init = (given?: TrackerOptions): void => {
    const options = { ...(script && optionsOf(script.dataset)), ...given };
    if (!options.clientId) return;
    // A prerendered page has no visitor until it is shown.
    if (document.prerendering) {
      document.addEventListener('prerenderingchange', () => call('init', given));
      return;
    }
    isDebugging = options.debug;
    // The script's own directory, so that a path prefix applies to the API, too.
    const apiUrl = (options.apiUrl || new URL('.', (script as NonNullable<typeof script>).src).href).replace(
      /\/$/,
      '',
    );
    commands = startTracker(options, apiUrl, attempt);
    for (const command of queue.splice(0)) void call(...command);
  };

  const call = (...[name, ...rest]: Command) =>
    attempt(() => {
      // biome-ignore lint/suspicious/noConsole: the page asked for it
      if (isDebugging) console.log(name, rest);
      const command = commands[name];
      if (command) return command(...(rest as never[]));
      if (queue.length < EARLY_COMMANDS_MAX) queue[queue.length] = [name, ...rest];
    });

  commands = { init };
  call.q = queue;
  window.op = new Proxy(call, {
    get: (target, name: 'q') =>
      target[name] || ((name as string) !== 'then' && ((...rest: unknown[]) => call(name, ...rest))),
  });
  for (const command of queue) if (command[0] === 'init') void call(...command);
  void call('init');
  // Code that holds a reference to the stub still pushes into its queue.
  queue.push = (queued) => {
    void call(...queued);
    return 0;
  };
}

install();
