import { readFileSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';

/** A subject that names the first lane, by itself, as a part, or in the name of a stream. */
const OF_FIRST_LANE = /"[^"\n]*(?:(?<=\.)0(?=[."])|lane-0(?=[-"]))[^"\n]*"/g;

/**
 * The text of `nats-users.conf` for a service with so many lanes: each right of the first lane is followed by the same right of
 * every other one.
 * @param {string} text
 * @param {number} lanes
 * @returns {string}
 */
export function usersForLanes(text, lanes) {
  return text.replace(OF_FIRST_LANE, (right) => {
    const rights = Array.from({ length: lanes }, (_, lane) =>
      right.replace(/(?<=\.)0(?=[."])|(?<=lane-)0(?=[-"])/g, String(lane)),
    );
    return rights.join(', ');
  });
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const lanes = Number(argv[2]);
  if (!Number.isInteger(lanes) || lanes < 1 || lanes > 32) {
    process.stderr.write(
      'usage: node for-lanes.mjs LANES > nats-users-LANES.conf, with LANES from 1 to 32\n',
    );
    process.exit(2);
  }
  process.stdout.write(
    usersForLanes(readFileSync(new URL('nats-users.conf', import.meta.url), 'utf8'), lanes),
  );
}
