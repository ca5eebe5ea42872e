import Type from 'typebox';
import { NO_OTHER_FIELDS } from '../../../shared/presenters/fields.ts';
import { EMAIL_KINDS, type OwnerEmailKind, SECURITY_EMAIL_KINDS } from '../../../shared/spec/events.ts';

const CREDITS_MAX = 1_000_000_000;

/** Balance below which credits are low, or null for the default. */
const CreditsLowThreshold = Type.Unsafe<number | null>({
  type: ['integer', 'null'],
  minimum: 0,
  maximum: CREDITS_MAX,
  description: 'Balance below which credits are low; null: a tenth of the credits granted for the month',
});

const EmailSwitch = (kind: OwnerEmailKind) =>
  Type.Boolean(SECURITY_EMAIL_KINDS.includes(kind) ? { description: 'About security: always true' } : {});

const mapKinds = <Schema>(build: (kind: OwnerEmailKind) => Schema) =>
  Object.fromEntries(EMAIL_KINDS.map((kind) => [kind, build(kind)])) as Record<OwnerEmailKind, Schema>;

export const NotificationSettingsResponse = Type.Object({
  email: Type.Object(mapKinds(EmailSwitch), { description: 'Kinds of e-mail messages, and whether they are sent' }),
  credits_low_threshold: CreditsLowThreshold,
});

export const NotificationSettingsRequest = Type.Object(
  {
    email: Type.Optional(
      Type.Object(
        mapKinds((kind) => Type.Optional(EmailSwitch(kind))),
        NO_OTHER_FIELDS,
      ),
    ),
    credits_low_threshold: Type.Optional(CreditsLowThreshold),
  },
  NO_OTHER_FIELDS,
);
