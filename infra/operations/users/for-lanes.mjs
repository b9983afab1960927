import { readFileSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';

/** The most lanes of a service. */
const LANES_MAX = 32;

/** A subject that names the first lane, by itself, as a part, or in the name of a stream. */
const OF_FIRST_LANE = /"[^"\n]*(?:(?<=\.)0(?=[."])|lane-0(?=[-"]))[^"\n]*"/g;

/**
 * The text of `nats-users.conf` for a service with this number of lanes: each right of the first lane is followed by the same right of
 * every other one.
 * @param {string} text
 * @param {number} lanes
 * @param {number} [before] the number of lanes of a service that is to grow: its lanes then have both their old and their new names
 * @returns {string}
 */
export function usersForLanes(text, lanes, before) {
  const numbers = Array.from({ length: lanes }, (_, lane) => String(lane));
  /** @param {number} count */
  const grown = (count) => numbers.slice(0, count).map((lane) => `${lane}-of-${count}`);
  const names = before === undefined ? numbers : [...numbers, ...grown(before), ...grown(lanes)];
  return text.replace(OF_FIRST_LANE, (right) => {
    const rights = right.includes('lane-0')
      ? numbers.map((lane) => right.replace(/(?<=lane-)0(?=[-"])/g, lane))
      : names.map((name) => right.replace(/(?<=\.)0(?=[."])/g, name));
    return rights.join(', ');
  });
}

const USAGE = `usage: node for-lanes.mjs LANES [BEFORE] > nats-users-LANES.conf, with LANES from 1 to ${LANES_MAX}
  BEFORE  how many lanes the service has now, if it is to grow to LANES
`;

if (argv[1] === fileURLToPath(import.meta.url)) {
  const [lanes = 0, before] = argv.slice(2).map(Number);
  const isNumber = Number.isInteger(lanes) && lanes >= 1 && lanes <= LANES_MAX;
  const isMultiple =
    before === undefined || (Number.isInteger(before) && before >= 1 && lanes % before === 0);
  if (!isNumber || !isMultiple) {
    process.stderr.write(USAGE);
    process.exit(2);
  }
  process.stdout.write(
    usersForLanes(readFileSync(new URL('nats-users.conf', import.meta.url), 'utf8'), lanes, before),
  );
}
