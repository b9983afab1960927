import { type Breach, sourcesOf, type Tree } from './source-tree.ts';

/** One way of writing that makes an engineer read a comment twice. */
interface Habit {
  readonly name: string;
  /** The better way. */
  readonly instead: string;
  /** Counts it in one comment. */
  readonly countIn: (comment: string) => number;
  /** Its number in all comments. It may only fall. */
  readonly most: number;
}

const HERE = 'infra/testing/plain-words.ts';

const countOf = (pattern: RegExp) => (comment: string) => comment.match(pattern)?.length ?? 0;

/** Only comments are counted, not the texts of programs and pages. */
export const HABITS: readonly Habit[] = [
  {
    name: 'noun clause as title',
    instead: 'a noun, or a sentence with a subject and a verb',
    countIn: countOf(/^(?:Who|What|Where|Whether|Which|How)\b/g),
    most: 0,
  },
  {
    name: 'those of, that of, that one',
    instead: 'the noun',
    countIn: countOf(/\b(?:those of|that of|that one)\b/gi),
    most: 0,
  },
  {
    name: 'three times that or which',
    instead: 'two sentences',
    countIn: (comment) => (countOf(/\b(?:that|which)\b/gi)(comment) >= 3 ? 1 : 0),
    most: 12,
  },
  { name: 'stands', instead: '`is`', countIn: countOf(/\b(?:stands?|stood|standing)\b/gi), most: 6 },
  { name: 'alone', instead: '`only`', countIn: countOf(/\balone\b/gi), most: 2 },
  { name: 'at once', instead: '`immediately` or `together`', countIn: countOf(/\bat once\b/gi), most: 0 },
  { name: 'away', instead: '`unavailable`', countIn: countOf(/\baway\b/gi), most: 8 },
  {
    name: 'told, tells',
    instead: '`says`, `reports`, `shows`',
    countIn: countOf(/\b(?:told|tells?|telling)\b/gi),
    most: 2,
  },
  { name: 'as at the start', instead: '`like`, or a sentence', countIn: countOf(/^As\b/g), most: 0 },
  {
    name: 'goes on',
    instead: '`continues`',
    countIn: countOf(/\b(?:go|goes|going|gone|went) on\b/gi),
    most: 0,
  },
  { name: 'so many, so long', instead: 'the number', countIn: countOf(/\bso (?:many|long)\b/gi), most: 0 },
  { name: 'of at the start', instead: 'the subject first', countIn: countOf(/(?:^|[.:;] )Of\b/g), most: 0 },
  { name: 'in place of', instead: '`instead of`', countIn: countOf(/\bin place of\b/gi), most: 0 },
  {
    name: 'nobody, somebody, whoever',
    instead: 'the role',
    countIn: countOf(/\b(?:nobody|somebody|whoever)\b/gi),
    most: 0,
  },
];

/** Habits that occur more often than before, and those whose maximum can be lowered. */
export function habitBreaches(
  tree: Tree,
  habits: readonly Pick<Habit, 'name' | 'instead' | 'most'>[] = HABITS,
): Breach[] {
  const counts = habitsOf(tree);
  return habits.flatMap(({ name, instead, most }) => {
    const count = counts[name] ?? 0;
    if (count === most) return [];
    const more = `comments have "${name}" ${count} times, at most ${most}: write ${instead}`;
    const fewer = `comments have "${name}" only ${count} times: lower its maximum from ${most}`;
    return [{ path: HERE, line: 1, rule: count > most ? more : fewer }];
  });
}

/** The number of each habit in the comments of all TypeScript and JavaScript files, by its name. */
function habitsOf(tree: Tree): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { name } of HABITS) counts[name] = 0;
  for (const { comments } of sourcesOf(tree).values()) {
    for (const comment of commentsIn(comments)) {
      for (const { name, countIn } of HABITS) counts[name] = (counts[name] ?? 0) + countIn(comment);
    }
  }
  return counts;
}

/** The text of each comment in one line. Line comments below each other are one comment. */
function commentsIn(comments: string): string[] {
  const found = comments.match(/\/\*[\s\S]*?\*\/|\/\/[^\n]*(?:\n[ \t]*\/\/[^\n]*)*/g) ?? [];
  return found.map((comment) =>
    comment
      .replace(/^\/\*+|\*\/$/g, '')
      .replace(/^[ \t]*(?:\/\/+|\*)[ \t]?/gm, '')
      .replace(/\s+/g, ' ')
      .trim(),
  );
}
