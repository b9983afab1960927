import type { GoalFiguresAnswer } from '../../../insights/goals-api.ts';
import { goOwn, look } from '../data/address.ts';
import { useAnswer } from '../data/answers.ts';
import { percent } from '../data/format.ts';
import { questionOf } from '../data/questions.ts';

/** Chooses a goal; its conversions are then shown among the figures and in every card. Absent where the site has none. */
export function GoalMenu() {
  const { answer } = useAnswer<GoalFiguresAnswer>(questionOf(look.value, 'goals'));
  if (answer === undefined || answer.length === 0) return null;
  return (
    <select
      class="narrow"
      aria-label="Goal"
      value={look.value.own.goal ?? ''}
      onChange={(event) => {
        const goal = event.currentTarget.value;
        goOwn({ goal, figure: goal === '' ? undefined : 'conversions' });
      }}
    >
      <option value="">No goal</option>
      {answer.map(({ id, name, conversion_rate: rate }) => (
        <option key={id} value={name}>
          {name}: {percent(rate)}
        </option>
      ))}
    </select>
  );
}
