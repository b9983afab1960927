const MINUTE_MS = 60_000;
/** Maximum shift of the page from its place, in hundredths of the shorter side of the screen; its margin is wider. */
const REACH = 1.6;
/** Steps of one round. Not a whole number of hours, so that a time of day does not always find the same place. */
const STEPS = 47;

/** Keeps the screen on while the page is seen. Browsers offer it over TLS only; without it, the settings of the machine decide. */
export function keepAwake(): void {
  const request = async () => {
    if (document.hidden || !('wakeLock' in navigator)) return;
    // Refused while the battery is low. It is asked for again when the page is seen the next time.
    await navigator.wakeLock.request('screen').catch(() => {});
  };
  document.addEventListener('visibilitychange', () => void request());
  void request();
}

/** Moves the page a little every minute, so that no pixel shows the same edge for months. */
export function keepMoving(page: HTMLElement): void {
  const move = () => {
    const angle = ((Math.floor(Date.now() / MINUTE_MS) % STEPS) / STEPS) * 2 * Math.PI;
    const [x, y] = [Math.sin(angle) * REACH, Math.sin(2 * angle) * REACH];
    page.style.transform = `translate(${x.toFixed(2)}vmin, ${y.toFixed(2)}vmin)`;
  };
  move();
  setInterval(move, MINUTE_MS);
}
