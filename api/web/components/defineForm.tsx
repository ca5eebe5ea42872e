import type { ComponentChildren, VNode } from 'preact';

/** Constraints of a field that come from the schema of the request. */
export interface Constraints {
  required?: boolean;
  maxLength?: number;
}

export interface ShownField {
  /** Id of its control. */
  id: string;
  name: string;
  /** Texts of the controls. */
  values: URLSearchParams;
  /** Hint in place of that of the definition. */
  hint: ComponentChildren;
  constraints: Constraints;
}

/** Field of a form for one value of a request. A form that was not accepted shows its own texts again. */
export interface Field<Value> {
  render: (field: ShownField) => VNode;
  /**
   * Reads the value. The parser of the request checks it further.
   * @returns undefined if the form does not contain the field.
   * @throws ServiceError validation_error
   */
  read: (form: URLSearchParams, name: string) => Value | undefined;
  /** Returns the names and texts of the controls that show a value; null is no value. */
  write(value: Value | null, name: string): [string, string][];
}

type Fields = Record<string, Field<unknown>>;
type ValueOf<Definition> = Definition extends Field<infer Value> ? Value : never;
type Values<Definitions extends Fields> = { [Name in keyof Definitions]?: ValueOf<Definitions[Name]> | null };

/** The part of a schema that the constraints of fields come from. */
interface RequestSchema {
  properties: object;
  required?: readonly string[];
}

interface FieldsProps<Name> {
  /** Texts of the controls, from `write` or `keep`. */
  values: URLSearchParams;
  /** Names of the fields to show. Default: all. */
  only?: readonly Name[];
  hints?: Partial<Record<Name & string, ComponentChildren>>;
}

/**
 * Defines a form for a request of the API, by the names of the request's fields. The length of texts, and whether a
 * field must be filled in, come from the schema.
 * @param prefix beginning of the ids of the controls.
 */
export function defineForm<Definitions extends Fields>(
  { prefix, schema }: { prefix: string; schema?: RequestSchema },
  fields: Definitions,
) {
  type Name = keyof Definitions & string;
  const names = Object.keys(fields) as Name[];
  const find = (name: Name) => fields[name] as Field<unknown>;
  const getConstraints = (name: Name): Constraints => {
    const property = (schema?.properties as Record<string, Constraints> | undefined)?.[name];
    return { required: schema?.required?.includes(name) === true, maxLength: property?.maxLength };
  };
  return {
    Fields: ({ values, only = names, hints = {} }: FieldsProps<Name>): VNode => (
      <>
        {only.map((name) =>
          find(name).render({
            id: `${prefix}-${name.replaceAll('_', '-')}`,
            name,
            values,
            hint: (hints as Record<string, ComponentChildren>)[name],
            constraints: getConstraints(name),
          }),
        )}
      </>
    ),
    /**
     * Reads the request from a form, without the fields that it does not contain. @throws ServiceError validation_error
     */
    read: (form: URLSearchParams, only: readonly Name[] = names): Values<Definitions> => {
      const values = only.map((name) => [name, find(name).read(form, name)]);
      return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as Values<Definitions>;
    },
    /** Returns the texts of the controls that show the values of a request or a response. */
    write: (values: Values<Definitions>): URLSearchParams =>
      new URLSearchParams(names.flatMap((name) => find(name).write(values[name] ?? null, name))),
    /** Returns what was entered, to show it again. Undefined if this was another form: it has no first field. */
    keep: (form: URLSearchParams | undefined): URLSearchParams | undefined =>
      form?.has(names[0] ?? '') === true ? form : undefined,
  };
}
