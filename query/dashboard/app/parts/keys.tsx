import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { VIEWS } from '../pages/views.ts';
import { commandsNow } from './commands.ts';
import { later } from './later.tsx';

const Palette = later(async () => (await import('./palette.tsx')).Palette);

/** Runs commands by key, and opens the palette that finds them by name. */
export function Keys() {
  const isOpen = useSignal(false);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isPaletteKey = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey);
      if (isPaletteKey) {
        event.preventDefault();
        isOpen.value = true;
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return;
      if (event.key === '?') isOpen.value = true;
      const key = event.key.length === 1 ? event.key.toUpperCase() : event.key;
      const command = commandsNow(VIEWS).find((one) => one.key === key);
      if (command === undefined) return;
      event.preventDefault();
      command.run();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [isOpen]);
  return (
    <>
      <button
        type="button"
        class="button"
        aria-label="⌘ K: commands and keys"
        title="Commands and keys (Ctrl or ⌘ K)"
        onClick={() => {
          isOpen.value = true;
        }}
      >
        <kbd>⌘ K</kbd>
      </button>
      {isOpen.value && (
        <Palette
          onClose={() => {
            isOpen.value = false;
          }}
        />
      )}
    </>
  );
}

/** True if keys belong to the focused element: a field, a dialog, an open menu. */
function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof Element &&
    target.closest('input, textarea, select, dialog, .panel, [role=tablist]') !== null
  );
}
