import type { NamesAnswer } from '../../../insights/vocabulary-api.ts';
import type { FunnelAnswer } from '../../../paths/funnel-api.ts';
import { goOwn, look, UNFILTERED } from '../data/address.ts';
import { useAnswer } from '../data/answers.ts';
import { questionOf } from '../data/questions.ts';
import { FunnelSteps } from '../parts/funnel-steps.tsx';
import { Empty, Failure, Loading, PartialMark } from '../parts/notice.tsx';
import { ViewTools } from '../parts/view-tools.tsx';

const STEPS_MAX = 10;
const NAMES_MAX = '200';
const WINDOWS: readonly (readonly [hours: string, title: string])[] = [
  ['1', 'within an hour'],
  ['24', 'within a day'],
  ['168', 'within a week'],
  ['720', 'within 30 days'],
];

/** Number of users who continue from one event to the next. Steps are chosen from the events of the period. */
export function Funnels() {
  const { own } = look.value;
  const steps = (own.steps ?? '').split('\n').filter((step) => step !== '');
  const names = useAnswer<NamesAnswer>(
    questionOf({ ...look.value, ...UNFILTERED }, 'events/names', { limit: NAMES_MAX }),
  );
  const known = (names.answer ?? []).map(({ name }) => name);
  const setSteps = (next: readonly string[]) => goOwn({ steps: next.join('\n') });
  const asked =
    steps.length < 2
      ? undefined
      : questionOf(look.value, 'funnel', {
          steps: JSON.stringify(steps),
          windowHours: own.hours ?? '24',
          groupBy: own.by === 'people' ? 'profile_id' : 'session_id',
        });
  const { answer, error, isLoading, retry } = useAnswer<FunnelAnswer>(asked);
  return (
    <>
      <ViewTools>
        <select
          class="narrow"
          aria-label="Time for all steps"
          value={own.hours ?? '24'}
          onChange={(event) => goOwn({ hours: event.currentTarget.value })}
        >
          {WINDOWS.map(([hours, title]) => (
            <option key={hours} value={hours}>
              {title}
            </option>
          ))}
        </select>
        <select
          class="narrow"
          aria-label="Who goes through the steps"
          value={own.by ?? 'sessions'}
          onChange={(event) => goOwn({ by: event.currentTarget.value })}
        >
          <option value="sessions">in one session</option>
          <option value="people">over all sessions of a visitor</option>
        </select>
      </ViewTools>
      <section class="card" aria-labelledby="steps-title">
        <h2 id="steps-title">Steps</h2>
        <ol class="steps">
          {steps.map((step, index) => (
            <li key={index} class="chip">
              <span class="chip-words">
                {index + 1}. {step}
              </span>
              <button
                type="button"
                class="chip-cross"
                aria-label={`Remove step ${index + 1}, ${step}`}
                onClick={() => setSteps(steps.toSpliced(index, 1))}
              >
                ✕
              </button>
            </li>
          ))}
          {steps.length < STEPS_MAX && (
            <li>
              <select
                class="narrow"
                aria-label="Another step"
                value=""
                onChange={(event) => setSteps([...steps, event.currentTarget.value])}
              >
                <option value="">Add a step…</option>
                {known.map((name) => (
                  <option key={name} value={name}>
                    {name}
                  </option>
                ))}
              </select>
            </li>
          )}
        </ol>
        {steps.length < 2 && (
          <Empty>Choose two events or more, in the order in which they should happen.</Empty>
        )}
        {isLoading && <Loading rows={3} />}
        {answer === undefined && error !== undefined && <Failure error={error} retry={retry} />}
        {answer?.partial && <PartialMark />}
        {answer !== undefined && <FunnelSteps answer={answer} />}
      </section>
    </>
  );
}
