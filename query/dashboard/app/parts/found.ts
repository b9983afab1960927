import type { PagesAnswer } from '../../../insights/pages-api.ts';
import type { NamesAnswer } from '../../../insights/vocabulary-api.ts';
import type { ListedProfile } from '../../../people/profile-list-api.ts';
import { go, look, UNFILTERED } from '../data/address.ts';
import { useAnswer } from '../data/answers.ts';
import { path as written } from '../data/format.ts';
import { questionOf, withFilter } from '../data/questions.ts';
import { addressOf } from '../data/service.ts';
import { isShared } from '../data/session.ts';
import type { Command } from './commands.ts';

const FOUND_MAX = 5;
const WORDS_MIN = 2;

/** People, pages and events whose names have these words, each as a command that goes there. */
export function useFound(words: string): readonly Command[] {
  const isAsked = words.trim().length >= WORDS_MIN;
  const contains = (name: string) => ({
    filters: JSON.stringify([{ name, operator: 'contains', value: [words.trim()] }]),
    limit: String(FOUND_MAX),
  });
  const people = useAnswer<readonly ListedProfile[]>(
    isAsked && !isShared.value
      ? addressOf(`insights/${encodeURIComponent(look.value.site)}/profiles`, {
          search: words.trim(),
          limit: String(FOUND_MAX),
        })
      : undefined,
  );
  const pages = useAnswer<PagesAnswer>(
    isAsked ? questionOf({ ...look.value, ...UNFILTERED }, 'pages', contains('path')) : undefined,
  );
  const events = useAnswer<NamesAnswer>(
    isAsked && !isShared.value
      ? questionOf({ ...look.value, ...UNFILTERED }, 'events/names', contains('name'))
      : undefined,
  );
  return [
    ...(people.answer ?? []).map(
      ({ id, firstName, lastName, email }): Command => ({
        group: 'Person',
        title: [`${firstName} ${lastName}`.trim(), email, id].filter((text) => text !== '').join(' · '),
        run: () => go({ view: 'people', own: { person: id } }),
      }),
    ),
    ...(pages.answer ?? []).map(
      ({ path }): Command => ({
        group: 'Page',
        title: written(path),
        run: () => {
          const filter = { name: 'path', operator: 'is', values: [path] } as const;
          go({ view: 'overview', own: {}, filters: withFilter(look.peek().filters, filter) });
        },
      }),
    ),
    ...(events.answer ?? []).map(
      ({ name }): Command => ({
        group: 'Event',
        title: name,
        run: () => go({ view: 'events', own: { event: name } }),
      }),
    ),
  ];
}
