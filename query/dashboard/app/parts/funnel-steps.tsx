import type { FunnelAnswer } from '../../../paths/funnel-api.ts';
import { count, duration, percent } from '../data/format.ts';

/** The steps of a funnel as bars, with the loss before each. */
export function FunnelSteps({
  answer: { steps, totalUsers, completedUsers, overallConversionRate },
}: {
  readonly answer: FunnelAnswer;
}) {
  return (
    <>
      <p class="funnel-sum">
        <strong>{percent(overallConversionRate)}</strong> of {count(totalUsers)} reach the last step:{' '}
        {count(completedUsers)}
      </p>
      <ol class="funnel">
        {steps.map(
          ({
            step,
            eventName,
            users,
            conversionRateFromStart,
            dropoffPercent,
            isHighestDropoff,
            between,
          }) => (
            <li key={step}>
              <span class="funnel-name">
                {step}. {eventName}
              </span>
              <span class="funnel-bar">
                <span class="funnel-fill" style={{ inlineSize: `${conversionRateFromStart}%` }} />
              </span>
              <span class="funnel-users">
                <strong>{count(users)}</strong> {percent(conversionRateFromStart)}
              </span>
              <span class={isHighestDropoff ? 'funnel-loss change bad' : 'funnel-loss quiet'}>
                {step > 1 && `${percent(dropoffPercent)} lost${isHighestDropoff ? ', the most' : ''}`}
                {between !== undefined && ` · half take ${duration(between.p50Seconds)}`}
              </span>
            </li>
          ),
        )}
      </ol>
    </>
  );
}
