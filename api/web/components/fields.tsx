import type { ComponentChildren, VNode } from 'preact';
import { FIELD_ERROR_ID, FieldError, useEntered } from './form.tsx';

interface LabelProps {
  id: string;
  name: string;
  label: string;
  hint?: ComponentChildren;
  /** Shows the hint above the control, as in a row with a button, which is aligned with the controls. */
  isHintAbove?: boolean | undefined;
  /** Sets the field apart from what precedes it. */
  isApart?: boolean | undefined;
}

interface ControlProps extends LabelProps {
  value?: string | undefined;
  autocomplete?: string | undefined;
  /** Id of a hint that belongs to several fields. */
  describedBy?: string;
}

interface TextFieldProps extends ControlProps {
  type?: 'text' | 'date';
  required?: boolean | undefined;
  maxLength?: number | undefined;
  placeholder?: string | undefined;
  inputmode?: 'numeric' | 'decimal' | 'url' | undefined;
}

const getHintId = ({ id, hint }: LabelProps) => (hint === undefined ? undefined : `${id}-hint`);

/** Attributes of a control, with what was entered before if the form was not accepted. */
function useControl(props: ControlProps) {
  const { entered, isWrong } = useEntered(props.name);
  const describedBy = [isWrong ? FIELD_ERROR_ID : undefined, getHintId(props), props.describedBy].filter(
    (id) => id !== undefined,
  );
  return {
    value: entered ?? props.value,
    'aria-invalid': isWrong ? ('true' as const) : undefined,
    'aria-describedby': describedBy.length === 0 ? undefined : describedBy.join(' '),
  };
}

function LabeledField(props: LabelProps & { children: ComponentChildren }): VNode {
  const { id, name, label, hint, isHintAbove = false, isApart = false, children } = props;
  const hintElement =
    hint === undefined ? null : (
      <span class="hint" id={getHintId(props)}>
        {hint}
      </span>
    );
  return (
    <div class={isApart ? 'field apart' : 'field'}>
      <label for={id}>{label}</label>
      <FieldError name={name} />
      {isHintAbove ? hintElement : null}
      {children}
      {isHintAbove ? null : hintElement}
    </div>
  );
}

/** Field of one line. */
export function TextField(props: TextFieldProps): VNode {
  const { id, label, hint, isHintAbove, isApart, describedBy: _, type = 'text', ...attributes } = props;
  const input = { ...attributes, ...useControl(props) };
  return (
    <LabeledField {...{ id, name: props.name, label, hint, isHintAbove, isApart }}>
      {type === 'date' ? <input id={id} type="date" {...input} /> : <input id={id} type="text" {...input} />}
    </LabeledField>
  );
}

/**
 * Field for a day. Any other value, such as a time or an invalid date, is shown as text, because a date field would be
 * empty.
 */
export function DateField({ value = '', ...props }: TextFieldProps): VNode {
  const isDay = value === '' || /^\d{4}-\d\d-\d\d$/.test(value);
  return <TextField {...props} type={isDay ? 'date' : 'text'} value={value} />;
}

/** Field for a list. */
export function TextArea(props: ControlProps): VNode {
  const { id, label, hint, isHintAbove, isApart, name, autocomplete } = props;
  const control = useControl(props);
  return (
    <LabeledField {...{ id, name, label, hint, isHintAbove, isApart }}>
      <textarea id={id} name={name} rows={3} autocomplete={autocomplete} spellcheck={false} {...control} />
    </LabeledField>
  );
}

/** Texts of the options by their values, in order. */
export type Options = readonly (readonly [value: string, text: string])[];

/** Choice of one option. */
export function SelectField(props: ControlProps & { options: Options }): VNode {
  const { id, label, hint, isHintAbove, isApart, name, autocomplete, options } = props;
  const { value, ...control } = useControl(props);
  return (
    <LabeledField {...{ id, name, label, hint, isHintAbove, isApart }}>
      <select id={id} name={name} autocomplete={autocomplete} {...control}>
        {options.map(([option, text]) => (
          <option value={option} selected={option === value}>
            {text}
          </option>
        ))}
      </select>
    </LabeledField>
  );
}
