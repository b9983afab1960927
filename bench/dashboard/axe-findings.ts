import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The rules about colours: only their findings can differ between light and dark. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block'];

/** Serious findings of axe-core, each with the elements that it is about. */
export function findings(page: Page): Promise<string[]> {
  return run(page, {});
}

/** Serious findings about colours, for a page whose other findings are known from its other colour scheme. */
export function colourFindings(page: Page): Promise<string[]> {
  return run(page, { runOnly: OF_COLOURS });
}

async function run(page: Page, options: object): Promise<string[]> {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate<{
    violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
  }>(`axe.run(${JSON.stringify(options)})`);
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`));
}
