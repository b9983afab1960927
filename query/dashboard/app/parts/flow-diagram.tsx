import { useSignal } from '@preact/signals';
import type { UserFlowAnswer } from '../../../paths/user-flow-api.ts';
import { flowLayout } from '../data/flow-layout.ts';
import { count, share, path as written } from '../data/format.ts';

const SIZES = { columnWidth: 210, nodeWidth: 10, height: 420, gap: 22, leastHeight: 2 };
/** Room above a node for its label. */
const LABEL = { height: 16, lettersMax: 26 };

type DrawnNode = UserFlowAnswer['nodes'][number];

/** A node's meaning in words. */
export function nodeTitle({ value, isOther, isExit }: DrawnNode, isBackward: boolean): string {
  if (isExit) return isBackward ? 'Began here' : 'Left';
  if (isOther) return 'All others';
  return written(value ?? '') || 'unknown';
}

/** A flow as bands between columns. A node lights its links, and Enter or a click begins the flow there. */
export function FlowDiagram({
  answer,
  isBackward,
  onStart,
}: {
  readonly answer: UserFlowAnswer;
  readonly isBackward: boolean;
  readonly onStart: (value: string) => void;
}) {
  const lit = useSignal<string | undefined>(undefined);
  const { width, height, nodes, links } = flowLayout(answer, SIZES);
  // Backward, column 0 holds the pages that sessions lead to, so it is at the right end.
  const mirrored = isBackward ? `translate(${width} 0) scale(-1 1)` : undefined;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by keyboard.
    <section class="flow-scroll" tabIndex={0} aria-label="Flow">
      {/* biome-ignore lint/a11y/useSemanticElements: a drawing has no fields. */}
      <svg
        class="flow"
        width={width}
        height={height + 2 * LABEL.height}
        viewBox={`0 ${-LABEL.height} ${width} ${height + 2 * LABEL.height}`}
        role="group"
        aria-label={`The flow of ${count(answer.sessions)} sessions`}
      >
        <g transform={mirrored}>
          {links.map(({ link, to, outline }) => (
            <path
              key={`${link.source} ${link.target}`}
              class={[
                'flow-link',
                to.isExit ? 'exit' : '',
                lit.value === link.source || lit.value === link.target ? 'lit' : '',
              ].join(' ')}
              d={outline}
            />
          ))}
        </g>
        {nodes.map(({ node, x, y, height: own }) => {
          const title = nodeTitle(node, isBackward);
          const left = isBackward ? width - x - SIZES.nodeWidth : x;
          const start = node.value !== null ? () => onStart(node.value ?? '') : undefined;
          const words = `${title}: ${count(node.sessions)} sessions, ${share(node.sessions, answer.sessions)}`;
          return (
            // biome-ignore lint/a11y/noStaticElementInteractions: its role depends on whether it leads somewhere.
            <g
              key={node.id}
              class={start === undefined ? 'flow-node' : 'flow-node clickable'}
              data-node={node.id}
              tabindex={0}
              role={start === undefined ? 'img' : 'button'}
              aria-label={start === undefined ? words : `${words}. Begin here`}
              onMouseEnter={() => {
                lit.value = node.id;
              }}
              onMouseLeave={() => {
                lit.value = undefined;
              }}
              onFocus={() => {
                lit.value = node.id;
              }}
              onBlur={() => {
                lit.value = undefined;
              }}
              onClick={start}
              onKeyDown={(event) => {
                if (event.key === 'Enter' || event.key === ' ') start?.();
              }}
            >
              <title>{words}</title>
              <rect x={left} y={y} width={SIZES.nodeWidth} height={own} rx="2" />
              <text
                x={isBackward ? left + SIZES.nodeWidth : left}
                y={y - 5}
                text-anchor={isBackward ? 'end' : 'start'}
              >
                {shortened(title)} <tspan class="flow-count">{count(node.sessions)}</tspan>
              </text>
            </g>
          );
        })}
      </svg>
    </section>
  );
}

function shortened(text: string): string {
  return text.length <= LABEL.lettersMax ? text : `${text.slice(0, LABEL.lettersMax - 1)}…`;
}
