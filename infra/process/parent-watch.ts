// The time that a process has to finish when its launcher is gone; then it exits immediately.
const FINISH_MAX_MS = 10_000;

/**
 * Ends this process when its launcher has ended in any way: the launcher has the other end of our standard input, and the kernel closes it.
 * We send ourselves SIGTERM, so that a process which drains on SIGTERM drains here as well. Does nothing unless the launcher sets
 * EXIT_WITH_STDIN=1.
 */
export function exitWithParent(): void {
  if (process.env.EXIT_WITH_STDIN !== '1') return;
  const onGone = () => {
    setTimeout(() => process.exit(1), FINISH_MAX_MS).unref();
    process.kill(process.pid, 'SIGTERM');
  };
  process.stdin.once('end', onGone);
  process.stdin.once('error', onGone);
  process.stdin.resume();
  // Watching must not keep a process alive that has nothing else to do.
  if ('unref' in process.stdin && typeof process.stdin.unref === 'function') process.stdin.unref();
}
