import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** A dialog over the page: focus stays in it, Escape and the button close it, and focus returns to where it was. */
export function Modal({
  title,
  onClose,
  children,
  size = 'middle',
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly size?: 'small' | 'middle' | 'large';
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Runs before the next event: a key pressed right afterwards is for the dialog.
  useLayoutEffect(() => {
    dialog.current?.showModal();
    // Otherwise the button that closes it would have the focus.
    dialog.current?.querySelector<HTMLElement>('input, select, textarea')?.focus();
  }, []);
  const isClosed = useRef(false);
  // Close synchronously: `close` fires later, and a key in between would hit a half-closed dialog.
  const close = () => {
    if (isClosed.current) return;
    isClosed.current = true;
    dialog.current?.close();
    onClose();
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself.
    <dialog
      class={`modal ${size}`}
      ref={dialog}
      aria-label={title}
      onClose={close}
      onCancel={(event) => {
        if (event.target === dialog.current) close();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) close();
      }}
    >
      <div class="modal-body">
        <header class="modal-head">
          <h2>{title}</h2>
          <button type="button" class="plain" aria-label="Close" onClick={close}>
            ✕
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
