import type { Site } from '../../infra/accounts/accounts.ts';
import { escapedXml } from './badge.ts';
import type { EmbedQuery } from './live-api.ts';

/**
 * The body of the wall page, which `../wall` fills. Without `isWhole` it has no sources and no figures of today,
 * because a site's public figures have neither.
 */
export function wallBody(
  { id, name }: Pick<Site, 'id' | 'name'>,
  { token = '', label }: Pick<EmbedQuery, 'token' | 'label'>,
  isWhole: boolean,
): string {
  const today = `<section class="today" aria-label="Today">
<p><strong id="today">–</strong> <span>today</span></p>
<p class="quiet" id="change"></p>
</section>`;
  const list = (listId: string, title: string) => `<section class="list" aria-labelledby="${listId}-title">
<h2 id="${listId}-title">${title}</h2>
<ol id="${listId}"></ol>
<p class="quiet" id="${listId}-none">–</p>
</section>`;
  // The page moves within the frame, so that it never reaches beyond the screen.
  return `<div class="frame"><main id="wall" data-site="${escapedXml(id)}" data-token="${escapedXml(token)}" data-whole="${isWhole}">
<header>
<h1>${escapedXml(name)}</h1>
<p id="state" role="status"></p>
<time id="clock"></time>
</header>
<div class="figures">
<section class="now" aria-label="Visitors now">
<p id="number" aria-hidden="true">–</p>
<p class="quiet" id="label">${escapedXml(label || 'visitors in the last five minutes')}</p>
<p class="unseen" id="spoken" role="status"></p>
</section>
${isWhole ? today : ''}
<section class="minutes" aria-labelledby="minutes-title">
<h2 id="minutes-title">Visitors by minute</h2>
<svg id="minutes" role="img" viewBox="0 0 300 100" preserveAspectRatio="none"></svg>
<p class="axis quiet" aria-hidden="true"><span>30 minutes ago</span><span id="peak"></span><span>now</span></p>
</section>
</div>
<div class="lists">
${list('pages', 'Pages now')}
${isWhole ? list('sources', 'Sources now') : ''}
</div>
</main></div>`;
}
