import { ServiceError } from '../../spec/errors.ts';
import { type EventType, WEBHOOK_EVENT_RIGHTS, WEBHOOK_EVENT_TYPES, type WebhookEventType } from '../../spec/events.ts';
import { hasRight, MEMBER_RIGHTS } from '../../spec/roles.ts';
import type { Caller } from '../accounts/caller.ts';

/** Lists the types of events that a caller may not read: an endpoint of its own would show them. */
export function listHiddenTypes({ member }: Caller): WebhookEventType[] {
  if (member === undefined) return [];
  return WEBHOOK_EVENT_TYPES.filter((type) => !hasRight(member.role, WEBHOOK_EVENT_RIGHTS[type]));
}

/**
 * Rejects types of events that the caller may not read.
 * @param types null: all.
 * @throws ServiceError insufficient_scope
 */
export function assertReadable(caller: Caller, types: readonly EventType[] | null): void {
  const hidden = listHiddenTypes(caller).find((type) => types === null || types.includes(type));
  if (hidden === undefined) return;
  const roles = MEMBER_RIGHTS[WEBHOOK_EVENT_RIGHTS[hidden]].join(', ');
  const detail = `Events of the type ${hidden} are for the roles ${roles}, and your role is ${caller.member?.role}. The owner or an admin can change it.`;
  throw new ServiceError('insufficient_scope', detail);
}

/**
 * Returns the types that an endpoint receives, as they are stored.
 * @param types null: all that the caller may read.
 * @throws ServiceError insufficient_scope as {@link assertReadable}
 */
export function chooseTypes(
  caller: Caller,
  types: readonly WebhookEventType[] | null = null,
): WebhookEventType[] | null {
  const hidden = listHiddenTypes(caller);
  if (types === null) return hidden.length === 0 ? null : WEBHOOK_EVENT_TYPES.filter((type) => !hidden.includes(type));
  assertReadable(caller, types);
  return [...new Set(types)];
}
