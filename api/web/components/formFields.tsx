import type { ComponentChildren } from 'preact';
import { ServiceError } from '../../../shared/spec/errors.ts';
import { type Lazy, resolve } from '../../lazy.ts';
import type { Field } from './defineForm.tsx';
import { FieldError } from './form.tsx';
import { DateField, type Options, SelectField, TextArea, TextField } from './fields.tsx';

interface FieldTexts {
  label: Lazy<string>;
  hint?: Lazy<ComponentChildren>;
  autocomplete?: string;
}

/** Text of one line. */
export function textField(texts: FieldTexts & { placeholder?: Lazy<string>; inputmode?: 'url' }): Field<string> {
  return {
    render: ({ id, name, values, hint = resolve(texts.hint), constraints }) => (
      <TextField
        id={id}
        name={name}
        value={values.get(name) ?? ''}
        autocomplete="off"
        {...constraints}
        {...texts}
        label={resolve(texts.label)}
        placeholder={resolve(texts.placeholder)}
        hint={hint}
      />
    ),
    read: (form, name) => form.get(name)?.trim(),
    write: (value, name) => [[name, value ?? '']],
  };
}

/** Choice of one option, of which the first is the default. The options may depend on the value that is shown. */
export function selectField({
  options,
  ...texts
}: FieldTexts & { options: Options | ((current: string) => Options); isHintAbove?: boolean }): Field<string> {
  return {
    render: ({ id, name, values, hint = resolve(texts.hint) }) => {
      const value = values.get(name) ?? '';
      return (
        <SelectField
          id={id}
          name={name}
          value={value}
          options={typeof options === 'function' ? options(value) : options}
          {...texts}
          label={resolve(texts.label)}
          hint={hint}
        />
      );
    },
    read: (form, name) => form.get(name) ?? undefined,
    write: (value, name) => (value === null ? [] : [[name, value]]),
  };
}

/** Day or time. An empty field is null. */
export function dateField(texts: FieldTexts): Field<string | Date | null> {
  return {
    render: ({ id, name, values, hint = resolve(texts.hint) }) => (
      <DateField
        id={id}
        name={name}
        value={values.get(name) ?? ''}
        autocomplete="off"
        {...texts}
        label={resolve(texts.label)}
        hint={hint}
      />
    ),
    read: (form, name) => (form.has(name) ? form.get(name)?.trim() || null : undefined),
    write: (value, name) => {
      const text = value instanceof Date ? value.toISOString() : (value ?? '');
      return [[name, text.replace('T00:00:00.000Z', '')]];
    },
  };
}

/** List whose items are separated by commas or white space. An empty one is null. */
export function listField(texts: FieldTexts): Field<readonly string[] | null> {
  return {
    render: ({ id, name, values, hint = resolve(texts.hint) }) => (
      <TextArea
        id={id}
        name={name}
        value={values.get(name) ?? ''}
        autocomplete="off"
        isApart
        {...texts}
        label={resolve(texts.label)}
        hint={hint}
      />
    ),
    read: (form, name) => {
      const items = form
        .get(name)
        ?.split(/[\s,]+/)
        .filter((item) => item !== '');
      return items?.length === 0 ? null : items;
    },
    write: (items, name) => [[name, (items ?? []).join('\n')]],
  };
}

type ChoiceItems<Item extends string> = readonly (readonly [Item, Lazy<ComponentChildren>])[];

interface Choices<Item extends string> {
  label: Lazy<string>;
  /** Check box for all items, also future ones, which are null in the request. */
  all: { name: string; label: Lazy<string> };
  /** Items with their labels. They may depend on those that are chosen. */
  items: ChoiceItems<Item> | ((chosen: readonly string[]) => ChoiceItems<Item>);
  /** Sentences about a choice of both all and single items, and about an empty one. */
  errors: { both: string; none: string };
  /**
   * Field that browsers send beside the check boxes even if none is checked. Without it, every form contains the check
   * boxes.
   */
  sentWith?: string;
}

/** Check boxes for all items or for single ones. */
export function choicesField<Item extends string>({
  label,
  all,
  items,
  errors,
  sentWith,
}: Choices<Item>): Field<readonly Item[] | null> {
  const isSent = (form: URLSearchParams, name: string) =>
    sentWith === undefined || [sentWith, name, all.name].some((field) => form.has(field));
  return {
    render: ({ name, values }) => (
      <fieldset class="apart">
        <legend>{resolve(label)}</legend>
        <FieldError name={name} />
        <div class="choices long">
          <label>
            <input type="checkbox" name={all.name} value="on" checked={values.has(all.name) || !isSent(values, name)} />{' '}
            {resolve(all.label)}
          </label>
          {(typeof items === 'function' ? items(values.getAll(name)) : items).map(([item, itemLabel]) => (
            <label>
              <input type="checkbox" name={name} value={item} checked={values.has(name, item)} /> {resolve(itemLabel)}
            </label>
          ))}
        </div>
      </fieldset>
    ),
    read: (form, name) => {
      if (!isSent(form, name)) return undefined;
      const [hasAll, chosen] = [form.has(all.name), form.getAll(name)];
      if (hasAll && chosen.length > 0) throw new ServiceError('validation_error', errors.both, { field: name });
      if (!hasAll && chosen.length === 0) throw new ServiceError('validation_error', errors.none, { field: name });
      // The parser of the request rejects unknown ones.
      return hasAll ? null : (chosen as Item[]);
    },
    write: (chosen, name) => (chosen === null ? [[all.name, 'on']] : chosen.map((item) => [name, item])),
  };
}
