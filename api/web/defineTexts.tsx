import type { ComponentChildren, VNode } from 'preact';
import IntlMessageFormat from 'intl-messageformat';
import { getLocale } from '../../shared/lib/localFormats.ts';
import type { Language } from '../../shared/spec/languages.ts';
import { getLanguage } from '../language.ts';

/** A text in all languages, in the message format of ICU. The compiler takes its arguments from the English one. */
type Messages = Readonly<Record<Language, string>>;

/** Element around a part of a text: a function that renders it, or the address of a link. */
type Tag = string | ((children: ComponentChildren) => VNode);

/** Tags that need no argument. */
const ELEMENTS = {
  b: (children: ComponentChildren) => <b>{children}</b>,
  code: (children: ComponentChildren) => <code>{children}</code>,
  strong: (children: ComponentChildren) => <strong>{children}</strong>,
  /** Only for screen readers. */
  unseen: (children: ComponentChildren) => <span class="unseen">{children}</span>,
};

/**
 * Arguments of a message, each with its kind: `name` in `{name}`, `n` in `{n, plural, …}`, `link` in `<link>…</link>`.
 */
type Parameters<Message extends string> = ReadMessage<Message> | ReadTags<Message>;
type ReadMessage<Text> = Text extends `${string}{${infer Rest}` ? ReadArgument<Rest> : never;
type ReadArgument<Text> = Text extends `${infer Argument}}${infer Rest}`
  ? Argument extends `${infer Name}, ${'plural' | 'select'}, ${string}`
    ? Text extends `${Name}, ${infer Kind}, ${infer Options}`
      ? [Name, Kind] | ReadOptions<Options>
      : never
    : [Argument extends `${infer Name}, ${string}` ? Name : Argument, ReadKind<Argument>] | ReadMessage<Rest>
  : never;
type ReadKind<Argument> = Argument extends `${string}, ${infer Kind}` ? Kind : 'text';
type ReadOptions<Text> = Text extends `}${infer Rest}`
  ? ReadMessage<Rest>
  : Text extends `${string}{${infer Rest}`
    ? ReadOption<Rest>
    : never;
type ReadOption<Text> = Text extends `${infer Content}}${infer Rest}`
  ? Content extends `${string}{${infer Argument}`
    ? [Argument extends `${infer Name}, ${string}` ? Name : Argument, ReadKind<Argument>] | ReadOption<Rest>
    : ReadOptions<Rest>
  : never;
type ReadTags<Text> = Text extends `${string}</${infer Name}>${infer Rest}`
  ? (Name extends keyof typeof ELEMENTS ? never : [Name, 'tag']) | ReadTags<Rest>
  : never;

interface ValuesByKind {
  text: string;
  select: string;
  number: number;
  plural: number;
  tag: Tag;
}
type Values<Parameter> = {
  [P in Parameter as P extends [infer Name extends string, unknown] ? Name : never]: P extends [
    unknown,
    infer Kind extends keyof ValuesByKind,
  ]
    ? ValuesByKind[Kind]
    : never;
};

/** Returns the text in the language of the page: children of an element if it contains tags, otherwise a string. */
type Text<Message extends string> = ((
  ...values: [Parameters<Message>] extends [never] ? [] : [values: Values<Parameters<Message>>]
) => Message extends `${string}</${string}` ? ComponentChildren : string) & { readonly messages: Messages };

/** Defines texts of pages by their names. A text is called where it is shown: `t.left({ count: 3 })`. */
export function defineTexts<const Definitions extends Readonly<Record<string, Messages>>>(
  definitions: Definitions,
): { readonly [Name in keyof Definitions]: Text<Definitions[Name]['en']> } {
  const texts = Object.entries(definitions).map(([name, messages]) => [name, createText(messages)]);
  return Object.fromEntries(texts) as ReturnType<typeof defineTexts<Definitions>>;
}

function createText(messages: Messages) {
  // Parsed when first shown: most texts are not, in most languages.
  const formats: Partial<Record<Language, IntlMessageFormat>> = {};
  const format = (values: Record<string, string | number | Tag> = {}): unknown => {
    const language = getLanguage();
    const message = (formats[language] ??= new IntlMessageFormat(messages[language], getLocale(language)));
    const given = Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'string' && messages.en.includes(`</${name}>`) ? toLink(value) : value,
    ]);
    return message.format({ ...ELEMENTS, ...Object.fromEntries(given) });
  };
  return Object.assign(format, { messages });
}

const toLink = (address: string) => (children: ComponentChildren) => <a href={address}>{children}</a>;
