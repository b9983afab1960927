// How long a process whose launcher is gone may take to finish; then it ends as it is.
const FINISH_MAX_MS = 10_000;

/**
 * Makes this process end when the one that started it is gone, however that died: the launcher holds the other end of
 * our standard input, and the kernel closes it. The wish is sent to ourselves as SIGTERM, so that a process which
 * drains on SIGTERM drains here as well. Does nothing unless the launcher asked for it with EXIT_WITH_STDIN=1.
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
