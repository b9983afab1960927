import { useSignal } from '@preact/signals';

/** Text to copy. */
export function CodeBlock({ text, label }: { readonly text: string; readonly label: string }) {
  const state = useSignal<'idle' | 'copied' | 'failed'>('idle');
  const copy = () => {
    navigator.clipboard.writeText(text).then(
      () => {
        state.value = 'copied';
      },
      () => {
        state.value = 'failed';
      },
    );
  };
  return (
    <div class="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by keyboard. */}
      <section class="code-text" tabIndex={0} aria-label={label}>
        <pre>
          <code>{text}</code>
        </pre>
      </section>
      <button type="button" class="button" onClick={copy}>
        {{ idle: 'Copy', copied: 'Copied', failed: 'Select and copy it by hand' }[state.value]}
      </button>
      <span class="unseen" role="status">
        {state.value === 'copied' ? 'Copied' : ''}
      </span>
    </div>
  );
}
