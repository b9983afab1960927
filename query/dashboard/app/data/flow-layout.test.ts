import { expect, test } from 'vitest';
import type { UserFlowAnswer } from '../../../paths/user-flow-api.ts';
import { flowLayout } from './flow-layout.ts';

const SIZES = { columnWidth: 200, nodeWidth: 10, height: 100, gap: 5, leastHeight: 1 };

const node = (column: number, value: string, sessions: number) => ({
  id: `${column}:value:${value}`,
  column,
  value,
  sessions,
  isOther: false,
  isExit: false,
});
const link = (source: string, target: string, sessions: number) => ({ source, target, sessions });

const ANSWER: UserFlowAnswer = {
  nodes: [node(0, 'a', 8), node(0, 'b', 2), node(1, 'c', 6), node(1, 'd', 4)],
  links: [
    link('0:value:a', '1:value:c', 5),
    link('0:value:a', '1:value:d', 3),
    link('0:value:b', '1:value:c', 1),
    link('0:value:b', '1:value:d', 1),
  ],
  sessions: 10,
};

test('nodes are as high as their sessions, and follow each other in their column', () => {
  const { nodes, width, height } = flowLayout(ANSWER, SIZES);
  expect(nodes.map(({ node: { value }, x, y, height: own }) => [value, x, y, own])).toEqual([
    ['a', 0, 0, 80],
    ['b', 0, 85, 20],
    ['c', 200, 0, 60],
    ['d', 200, 65, 40],
  ]);
  expect([width, height]).toEqual([400, 105]);
});

test('links leave and enter their nodes one below the other, and fill them', () => {
  const { links } = flowLayout(ANSWER, SIZES);
  const ends = links.map(({ outline }) => {
    const [, startY] = /^M10,([\d.]+) /.exec(outline) ?? [];
    const [, endY, endBottom] = / 200,([\d.]+) L200,([\d.]+) /.exec(outline) ?? [];
    return [startY, endY, endBottom].map(Number);
  });
  expect(ends).toEqual([
    [0, 0, 50],
    [50, 65, 95],
    [85, 50, 60],
    [95, 95, 105],
  ]);
});

test('a flow without sessions is empty, and what is rare can be seen', () => {
  expect(flowLayout({ nodes: [], links: [], sessions: 0 }, SIZES)).toMatchObject({
    nodes: [],
    links: [],
    height: 0,
  });
  const rare = { ...ANSWER, sessions: 100_000 };
  for (const { height } of flowLayout(rare, SIZES).nodes) expect(height).toBe(1);
});
