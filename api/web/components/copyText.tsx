import type { VNode } from 'preact';
import { t } from '../texts.ts';

interface CopyTextProps {
  id: string;
  text: string;
  /** Name of the text, for the button. */
  label: string;
}

/** Text to copy, with a button that appears where the script of the account area runs. */
export function CopyText({ id, text, label }: CopyTextProps): VNode {
  return (
    <div class="copy">
      <code class="secret" id={id}>
        {text}
      </code>
      <button type="button" class="slight" data-copy={id} hidden>
        {t.copy({ label })}
      </button>
      <span
        class="unseen"
        aria-live="polite"
        data-done={`${t.copied()}\n${t.copiedMessage()}`}
        data-failed={`${t.notCopied()}\n${t.notCopiedMessage()}`}
      />
    </div>
  );
}
