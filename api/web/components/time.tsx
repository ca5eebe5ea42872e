import type { VNode } from 'preact';
import { formatDateTime } from './formatTime.ts';

/** Time in UTC, to the minute or second. The script of the account area adds the local time as a tooltip. */
export function Time({ at, hasSeconds = false }: { at: Date; hasSeconds?: boolean }): VNode {
  const iso = at.toISOString();
  return (
    <time datetime={iso}>
      {formatDateTime(at)}
      {hasSeconds ? iso.slice(16, 19) : null}
    </time>
  );
}
