import { findNatsServer } from '../launch/nats-server.ts';
import { prepare } from '../launch/prepare.mjs';
import { createTerminal, quietTerminal } from '../launch/terminal.mjs';

/**
 * Brings packages, nats-server and dist/ up to date before tests that start real processes, so that a test run without
 * `npm run setup` never tests an old build.
 */
export default async function setup(): Promise<void> {
  const terminal = createTerminal(process.stdout, { color: false });
  const quiet = quietTerminal(terminal, 500);
  await prepare(quiet);
  await findNatsServer(process.env, quiet);
}
