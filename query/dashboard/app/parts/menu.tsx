import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** A button that opens a panel below it. The panel closes with Escape, a click elsewhere, or when focus leaves it. */
export function Menu({
  label,
  title,
  children,
  kind = 'button',
  align = 'start',
}: {
  readonly label: ComponentChildren;
  /** The accessible name, where the label says too little by itself. */
  readonly title?: string;
  readonly children: (close: () => void) => ComponentChildren;
  readonly kind?: string;
  readonly align?: 'start' | 'end';
}) {
  const isOpen = useSignal(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  // Runs before the next event: a key pressed right afterwards is for the panel.
  useLayoutEffect(() => {
    if (!isOpen.value) return;
    const panel = root.current?.querySelector('.panel');
    const present = panel?.querySelector<HTMLElement>('[aria-current]');
    (present ?? panel?.querySelector<HTMLElement>('input, button, a'))?.focus();
    const onPress = (event: PointerEvent) => {
      if (event.target instanceof Node && root.current?.contains(event.target) !== true) isOpen.value = false;
    };
    addEventListener('pointerdown', onPress);
    return () => removeEventListener('pointerdown', onPress);
  }, [isOpen, isOpen.value]);
  const close = () => {
    isOpen.value = false;
    button.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isOpen.value) return;
    if (event.key === 'Escape') {
      event.stopPropagation();
      close();
    }
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    const all = [...(root.current?.querySelectorAll<HTMLElement>('.panel button, .panel a') ?? [])];
    const { activeElement } = document;
    const at = activeElement instanceof HTMLElement ? all.indexOf(activeElement) : -1;
    const next = all[(at + (event.key === 'ArrowDown' ? 1 : all.length - 1)) % all.length];
    if (next === undefined || activeElement instanceof HTMLInputElement) return;
    event.preventDefault();
    next.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it listens for the keys of the buttons within.
    <div class="menu" ref={root} onKeyDown={onKeyDown}>
      <button
        type="button"
        class={kind}
        ref={button}
        aria-expanded={isOpen.value}
        aria-label={title}
        onClick={() => {
          isOpen.value = !isOpen.value;
        }}
      >
        {label}
      </button>
      {isOpen.value && <div class={`panel ${align}`}>{children(close)}</div>}
    </div>
  );
}
