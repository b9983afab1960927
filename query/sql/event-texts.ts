import { REVENUE_BY_CURRENCY } from '../../processor/figures.ts';
import { inSpan, inSpans } from './time-texts.ts';

/** The parts that events add to figures, and events of the row hours. */

/** The columns of an event that its figures need besides its time. */
export const EVENT_COLUMNS = `revenue, currency, name = {screenView:String} AS isScreenView,
            name IN {synthetic:Array(String)} AS isSynthetic`;

/**
 * The parts of events with these columns, in the order of `HOURS` (`bucket-figures.ts`).
 * @param visitorsOf makes the column of visitors from the condition under which a `visitor` counts
 * @param noVisitor the value of `visitor` in events without one
 */
export function eventParts(visitorsOf: (condition: string) => string, noVisitor = '0'): string {
  return `toInt64(countIf(isScreenView)) AS viewed,
        ${visitorsOf(`visitor != ${noVisitor} AND NOT isSynthetic`)},
        ${REVENUE_BY_CURRENCY} AS earned`;
}

/** A map of amounts as texts, because JSON would round them. */
export function shownAmounts(amounts: string): string {
  return `mapApply((code, amount) -> (code, toString(amount)), ${amounts})`;
}

/** The columns of an event that the figures of its page need. `amount` is its revenue in `currency`. */
export const VIEW_COLUMNS = `origin, path, name = {screenView:String} AS isScreenView,
        if(currency = {currency:String}, revenue, 0) AS amount`;
/** A condition on events: the page's figures need it. */
export const IS_OF_PAGE = '(name = {screenView:String} OR revenue != 0)';

/** Events of the row hours with their `visitor`, hashed as in rollups. */
export function rowEvents(columns: string, span: 'one' | 'two', condition = '1'): string {
  return `(
        SELECT *, $EVENT_VISITOR_HASH$ AS visitor
        FROM $EVENTS[
            SELECT sessionId, profileId, deviceId, ${columns}
            WHERE ${span === 'one' ? inSpan('createdAt') : inSpans('createdAt')} AND ${condition}
            STORED WHERE $IN_ROW_HOURS$
        ]$ AS happened
        ANY LEFT JOIN $ROW_PROFILES$ AS named USING (sessionId)
    )`;
}
