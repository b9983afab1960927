// Old versions of Node must be able to load this file and report the problem, so it uses the syntax of 2015.

/**
 * The versions of Node that footfall supports, the preferred one first, and the oldest glibc with which the HTTP
 * library's binary loads on each. Node 20.11 is the first with `import.meta.dirname`. A test compares the table with
 * the binaries.
 */
export const SUPPORTED_NODES = [
  { major: 24, minor: 0, abi: 137, glibc: '2.38' },
  { major: 22, minor: 0, abi: 127, glibc: '2.38' },
  { major: 20, minor: 11, abi: 115, glibc: '2.27' },
];

/**
 * Describes what is wrong with this version of Node on this machine; an empty string when it is supported.
 * @param {{ version: string, platform: string, glibc: string }} machine version such as 20.11.0; glibc such as 2.36,
 * empty when there is none or this Node does not report it
 * @returns {string} one line
 */
export function nodeProblem(machine) {
  var major = Number(machine.version.split('.')[0]);
  var minor = Number(machine.version.split('.')[1]);
  var supported = SUPPORTED_NODES.filter((node) => node.major === major && node.minor <= minor)[0];
  if (supported === undefined) {
    return `footfall needs Node 24, 22 or 20 (20.11 or newer), but this is Node ${machine.version}. ${advice(machine)}`;
  }
  if (machine.platform !== 'linux') return '';
  if (machine.glibc === '') {
    return 'The HTTP library needs glibc, but this system has another C library. Use a distribution with glibc, such as Debian.';
  }
  if (isAtLeast(machine.glibc, supported.glibc)) return '';
  return `Node ${major} needs glibc ${supported.glibc} or newer for the HTTP library; this machine has ${machine.glibc}. ${advice(machine)}`;
}

/** The facts about this process that `nodeProblem` needs. */
export function thisMachine() {
  return { version: process.versions.node, platform: process.platform, glibc: glibcVersion() };
}

/** @param {{ platform: string, glibc: string }} machine */
function advice(machine) {
  if (machine.platform !== 'linux') return 'Use Node 24.';
  if (machine.glibc === '') return 'Use Node 24, or Node 20 where glibc is older than 2.38.';
  var loading = SUPPORTED_NODES.filter((node) => isAtLeast(machine.glibc, node.glibc))[0];
  if (loading === undefined) return 'Use a newer distribution.';
  return loading === SUPPORTED_NODES[0]
    ? `Use Node ${loading.major}.`
    : `Use Node ${loading.major}, or a newer distribution.`;
}

/** @returns {string} such as 2.36; empty without glibc and on a Node without reports */
function glibcVersion() {
  if (!process.report) return '';
  // Otherwise the report looks up the names of open connections over the network.
  Object.assign(process.report, { excludeNetwork: true });
  return Object(Object(process.report.getReport()).header).glibcVersionRuntime || '';
}

/**
 * @param {string} version such as 2.36
 * @param {string} least
 */
export function isAtLeast(version, least) {
  var difference = Number(version.split('.')[0]) - Number(least.split('.')[0]);
  return difference > 0 || (difference === 0 && Number(version.split('.')[1]) >= Number(least.split('.')[1]));
}
