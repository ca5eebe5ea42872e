import { mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import IntlMessageFormat from 'intl-messageformat';
import { withLanguage } from '../../api/language.ts';
import { defineTexts } from '../../api/web/defineTexts.tsx';
import { getLocale } from '../../shared/lib/localFormats.ts';
import { findLanguage, type Language, LANGUAGES } from '../../shared/spec/languages.ts';
import { sources } from '../architecture/sources.ts';
import { bundleModules } from '../harness/moduleBundle.ts';

type Messages = Record<Language, string>;
type Elements = ReturnType<IntlMessageFormat['getAst']>;

/** Kinds of the elements of a message, as the parser numbers them. */
const ARGUMENT_KINDS: Record<number, string> = { 1: 'text', 2: 'number', 5: 'select', 6: 'plural', 8: 'tag' };
/** Categories of large numbers in compact notation, which the pages do not use. */
const UNUSED_CATEGORIES = ['many'];

/** Lists the arguments of a message with their kinds. */
function listParameters(elements: Elements): string[] {
  return elements.flatMap((element) => {
    const { type, value } = element as { type: number; value: string };
    const inner = 'children' in element ? [element.children] : [];
    const options = 'options' in element ? Object.values(element.options).map((option) => option.value) : [];
    const own = type in ARGUMENT_KINDS ? [`${value} ${ARGUMENT_KINDS[type]}`] : [];
    return [...own, ...[...inner, ...options].flatMap(listParameters)];
  });
}

/** Lists the plural arguments of a message with the categories that each distinguishes. */
function listPlurals(elements: Elements): string[][] {
  return elements.flatMap((element) => {
    const inner = 'children' in element ? listPlurals(element.children) : [];
    return 'pluralType' in element ? [Object.keys(element.options), ...inner] : inner;
  });
}

const parse = (message: string, language: Language) => new IntlMessageFormat(message, getLocale(language)).getAst();

/** Collects the texts of all modules that define some, by their names. */
async function collectTexts(): Promise<[name: string, messages: Messages][]> {
  const paths = sources.filter(({ text }) => /= defineTexts\(/.test(text)).map(({ path }) => path);
  const bundle = await bundleModules(mkdtempSync(join(tmpdir(), 'texts-')), paths);
  const modules = createRequire(import.meta.url)(bundle) as Record<string, () => Record<string, object>>;
  return Object.entries(modules).flatMap(([path, load]) =>
    Object.values(load()).flatMap((texts) =>
      Object.entries(texts as Record<string, { messages?: Messages }>).flatMap(([name, { messages }]) =>
        messages === undefined ? [] : [[`${path} ${name}`, messages] as [string, Messages]],
      ),
    ),
  );
}

describe('the texts of pages', () => {
  let texts: [name: string, messages: Messages][];
  before(async () => {
    texts = await collectTexts();
    expect(texts).to.have.length.above(50);
  });

  it('each is in every language, with the same arguments and tags as in English', () => {
    for (const [name, messages] of texts) {
      expect(Object.keys(messages), name).to.have.members(LANGUAGES);
      const expected = new Set(listParameters(parse(messages.en, 'en')));
      for (const language of LANGUAGES) {
        const message = messages[language];
        expect(message, `${name} ${language}`).to.equal(message.trim());
        expect([...new Set(listParameters(parse(message, language)))], `${name} ${language}`).to.have.members([
          ...expected,
        ]);
      }
    }
  });

  it('plurals distinguish exactly the categories of their language', () => {
    for (const language of LANGUAGES) {
      const { pluralCategories } = new Intl.PluralRules(language).resolvedOptions();
      const expected = pluralCategories.filter((category) => !UNUSED_CATEGORIES.includes(category));
      for (const [name, messages] of texts)
        for (const categories of listPlurals(parse(messages[language], language)))
          expect(
            categories.filter((category) => !category.startsWith('=')),
            `${name} ${language}`,
          ).to.have.members(expected);
    }
  });

  it('apostrophes are typographic: the straight one is a character of the message format', () => {
    const straight = texts.flatMap(([name, messages]) =>
      LANGUAGES.filter((language) => language !== 'en' && messages[language].includes("'")).map(
        (language) => `${name} ${language}`,
      ),
    );
    expect(straight).to.deep.equal([]);
  });

  it('are shown in the language of the page, with numbers as it writes them', () => {
    const t = defineTexts({
      left: {
        en: '{count, plural, one {# credit} other {# credits}} left',
        de: 'Noch {count, plural, one {# Credit} other {# Credits}}',
        fr: 'Encore {count, plural, one {# crédit} other {# crédits}}',
        es: 'Quedan {count, plural, one {# crédito} other {# créditos}}',
        ja: '残り{count, plural, other {#}}クレジット',
        'zh-CN': '剩余 {count, plural, other {#}} 积分',
      },
    });
    expect([t.left({ count: 1 }), t.left({ count: 12_000 })]).to.deep.equal(['1 credit left', '12,000 credits left']);
    expect(withLanguage('de', () => t.left({ count: 12_000 }))).to.equal('Noch 12.000 Credits');
    expect(withLanguage('fr', () => t.left({ count: 0 }))).to.equal('Encore 0 crédit');
    expect(withLanguage('ja', () => t.left({ count: 1 }))).to.equal('残り1クレジット');
  });
});

describe('the language of a person', () => {
  it('is the one that the code names, or a variant of it, or English', () => {
    const codes = ['de', 'de-AT', 'zh', 'zh-Hant-TW', 'ZH-cn', 'pt-BR', 'gsw-CH', ''];
    expect(codes.map(findLanguage)).to.deep.equal(['de', 'de', 'zh-CN', 'zh-CN', 'zh-CN', 'en', 'en', 'en']);
  });
});
