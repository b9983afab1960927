import { hashText } from '../../processor/rows.ts';

/** What a block is multiplied with, to put the number of an hour since 1970 behind it; enough until the year 2089. */
export const KEY_HOURS = 1_048_576n;

const VISITOR = "if(profileId != '', profileId, deviceId)";

/** What the statements over sums have in common, by the places in `sql/*-summed.sql` and `sql/pages-*.sql` that stand for it. */
export const SUMMED_TEXTS: Readonly<Record<string, string>> = {
  /** On rows of sums of hours: the row of an hour that is read from its sum. */
  $SUMMED_HOURS$: summedText('hour', 'firstHour', 'lastHour', 'hourKeys'),
  /** The same of days. */
  $SUMMED_DAYS$: summedText('day', 'firstDay', 'lastDay', 'dayKeys'),
  /** The visitor of an event or a session as sums tell them apart; 0 for none. */
  $VISITOR$: `if(profileId = '' AND deviceId = '', 0, ${hashText(VISITOR)})`,
  /** The session of an event, in the same way. */
  $SESSION$: `if(sessionId = toFixedString('', 16), 0, ${hashText('sessionId')})`,
};

/** A row is the one that is meant when its block and its time are in one of the keys; the bounds are for the index. */
function summedText(start: string, first: string, last: string, keys: string): string {
  return [
    `${start} >= toDateTime({${first}:UInt32}, 'UTC') AND ${start} <= toDateTime({${last}:UInt32}, 'UTC')`,
    `toUInt128(block) * ${KEY_HOURS} + intDiv(toUnixTimestamp(${start}), 3600) IN {${keys}:Array(UInt128)}`,
  ].join(' AND ');
}
