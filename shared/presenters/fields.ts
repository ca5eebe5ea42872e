import Type, { type Static } from 'typebox';
import { getPlanSlugs } from '../lib/catalog/catalog.ts';
import { perService } from '../lib/serviceScope.ts';
import { WEBHOOK_URL_MAX_CHARACTERS } from '../spec/limits.ts';

/** Schemas of fields that several resources share. */

const ISO_UTC = 'ISO 8601, UTC';

export const Uuid = Type.String({ format: 'uuid' });

/** A time: a `Date` in the service and a string in JSON. */
export const Timestamp = Type.Unsafe<Date>({ type: 'string', format: 'date-time', description: ISO_UTC });

export const timestampOrNull = (description = ISO_UTC) =>
  Type.Unsafe<Date | null>({ type: ['string', 'null'], format: 'date-time', description });

/** Address that receives webhooks. `parseWebhookUrl` in the domain checks it further. */
export const WebhookUrl = Type.String({
  minLength: 1,
  maxLength: WEBHOOK_URL_MAX_CHARACTERS,
  format: 'text',
  description: 'An https address, without a user name, password or fragment',
});

export const textOrNull = (options: Record<string, unknown> = {}) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], ...options });

export const countOrNull = (options: Record<string, unknown> = {}) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], ...options });

export const objectOrNull = <Schema extends Type.TSchema>(schema: Schema, description: string) =>
  Type.Unsafe<Static<Schema> | null>({ ...schema, type: ['object', 'null'], description });

export const getAccountPlanSchema = perService(() =>
  objectOrNull(
    Type.Object({ slug: Type.Enum(getPlanSlugs()), name: Type.String(), parallel_limit: Type.Integer() }),
    'null without an active subscription',
  ),
);

/**
 * Presents a row by the schema of its response: the fields that the schema names, in their order. Undefined ones are
 * absent.
 * @param computed those that are not columns of the row.
 */
export function presentAs<Schema extends Type.TObject, Computed extends Partial<Static<Schema>> = object>(
  { properties }: Schema,
  row: Omit<Static<Schema>, keyof Computed>,
  computed?: Computed,
): Static<Schema> {
  const values: Record<string, unknown> = { ...computed };
  const response: Record<string, unknown> = {};
  for (const name of Object.keys(properties)) {
    const value = name in values ? values[name] : (row as typeof values)[name];
    if (value !== undefined) response[name] = value;
  }
  return response as Static<Schema>;
}

/** Options of request schemas: unknown fields are rejected by name. */
export const NO_OTHER_FIELDS = { additionalProperties: false };
