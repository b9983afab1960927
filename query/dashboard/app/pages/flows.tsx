import type { UserFlowAnswer } from '../../../paths/user-flow-api.ts';
import { goOwn, look } from '../data/address.ts';
import { useAnswer } from '../data/answers.ts';
import { count } from '../data/format.ts';
import { questionOf } from '../data/questions.ts';
import { FlowDiagram, nodeTitle } from '../parts/flow-diagram.tsx';
import { Empty, Failure, Loading, PartialMark } from '../parts/notice.tsx';
import { ViewTools } from '../parts/view-tools.tsx';

const STEPS = ['2', '3', '4', '5', '6', '8'];
const NODES = ['5', '8', '12', '20'];
const DEFAULT = { steps: '4', nodes: '8' };

/** The paths of sessions from a page or an event, or to it. */
export function Flows() {
  const { own } = look.value;
  const by = own.by === 'events' ? 'events' : 'pages';
  const isBackward = own.direction === 'backward';
  const { answer, error, isLoading, retry } = useAnswer<UserFlowAnswer>(
    questionOf(look.value, 'user_flow', {
      by,
      start: own.start,
      direction: isBackward ? 'backward' : undefined,
      depth: own.depth ?? DEFAULT.steps,
      limit: own.nodes ?? DEFAULT.nodes,
    }),
  );
  return (
    <>
      <ViewTools>
        <Choice
          label="What is followed"
          value={by}
          choices={[
            ['pages', 'pages'],
            ['events', 'events'],
          ]}
          onChoose={(next) => goOwn({ by: next === 'pages' ? undefined : next, start: undefined })}
        />
        <Choice
          label="Direction"
          value={isBackward ? 'backward' : 'forward'}
          choices={[
            ['forward', 'where they go'],
            ['backward', 'where they came from'],
          ]}
          onChoose={(next) => goOwn({ direction: next === 'forward' ? undefined : next })}
        />
        <Choice
          label="Steps"
          value={own.depth ?? DEFAULT.steps}
          choices={STEPS.map((steps) => [steps, `${steps} steps`])}
          onChoose={(next) => goOwn({ depth: next === DEFAULT.steps ? undefined : next })}
        />
        <Choice
          label="Most in a column"
          value={own.nodes ?? DEFAULT.nodes}
          choices={NODES.map((nodes) => [nodes, `top ${nodes}`])}
          onChoose={(next) => goOwn({ nodes: next === DEFAULT.nodes ? undefined : next })}
        />
      </ViewTools>
      <section class="card" aria-labelledby="flow-title">
        <header class="card-head">
          <h2 id="flow-title">{isBackward ? 'How sessions came here' : 'Where sessions go'}</h2>
          {own.start !== undefined && (
            <span class="chip">
              <span class="chip-words">
                {isBackward ? 'to' : 'from'} {own.start}
              </span>
              <button
                type="button"
                class="chip-cross"
                aria-label={`From any ${by === 'pages' ? 'page' : 'event'}`}
                onClick={() => goOwn({ start: undefined })}
              >
                ✕
              </button>
            </span>
          )}
        </header>
        {isLoading && <Loading rows={8} />}
        {answer === undefined && error !== undefined && <Failure error={error} retry={retry} />}
        {answer?.partial && <PartialMark />}
        {answer?.sessions === 0 && (
          <Empty>
            {own.start === undefined
              ? 'No session has an event in this period.'
              : `No session has ${own.start} in this period.`}
          </Empty>
        )}
        {answer !== undefined && answer.sessions > 0 && (
          <>
            <FlowDiagram answer={answer} isBackward={isBackward} onStart={(start) => goOwn({ start })} />
            <FlowTable answer={answer} isBackward={isBackward} />
          </>
        )}
      </section>
    </>
  );
}

/** The same as rows. */
function FlowTable({
  answer,
  isBackward,
}: {
  readonly answer: UserFlowAnswer;
  readonly isBackward: boolean;
}) {
  const nodes = new Map(answer.nodes.map((node) => [node.id, node]));
  return (
    <details class="as-table">
      <summary>As a table</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by keyboard. */}
      <section class="table-scroll" tabIndex={0} aria-label="Flow as a table">
        <table class="table">
          <thead>
            <tr>
              <th scope="col" class="number">
                Step
              </th>
              <th scope="col">{isBackward ? 'To' : 'From'}</th>
              <th scope="col">{isBackward ? 'From' : 'To'}</th>
              <th scope="col" class="number">
                Sessions
              </th>
            </tr>
          </thead>
          <tbody>
            {answer.links.map(({ source, target, sessions }) => {
              const [from, to] = [nodes.get(source), nodes.get(target)];
              if (from === undefined || to === undefined) return null;
              return (
                <tr key={`${source} ${target}`}>
                  <td class="number">{count(to.column)}</td>
                  <td>{nodeTitle(from, isBackward)}</td>
                  <td>{nodeTitle(to, isBackward)}</td>
                  <td class="number">{count(sessions)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </section>
    </details>
  );
}

function Choice({
  label,
  value,
  choices,
  onChoose,
}: {
  readonly label: string;
  readonly value: string;
  readonly choices: readonly (readonly [value: string, title: string])[];
  readonly onChoose: (value: string) => void;
}) {
  return (
    <select
      class="narrow"
      aria-label={label}
      value={value}
      onChange={(event) => onChoose(event.currentTarget.value)}
    >
      {choices.map(([one, title]) => (
        <option key={one} value={one}>
          {title}
        </option>
      ))}
    </select>
  );
}
