// Gives the program that loads it another time of day, `?ahead=` milliseconds ahead of the machine's. Timers and monotonic clocks stay as
// they are. Unlike the library of `bench/cluster/clocks.ts`, it has to be installed nowhere, but the time cannot be set again.

const aheadMs = Number(new URL(import.meta.url).searchParams.get('ahead'));
const machineNowMs = Date.now.bind(Date);
const nowMs = () => machineNowMs() + aheadMs;

globalThis.Date = new Proxy(Date, {
  construct: (real, given, target) => Reflect.construct(real, given.length === 0 ? [nowMs()] : given, target),
  get: (real, name, receiver) => (name === 'now' ? nowMs : Reflect.get(real, name, receiver)),
});
