import { defineTexts } from '../../../web/defineTexts.tsx';

/** Texts around the guides, which are in English. */
export const t = defineTexts({
  searchLabel: {
    en: 'Search the guides',
    de: 'Anleitungen durchsuchen',
    fr: 'Rechercher dans les guides',
    es: 'Buscar en las guías',
    ja: 'ガイドを検索',
    'zh-CN': '搜索指南',
  },
  search: { en: 'Search', de: 'Suchen', fr: 'Rechercher', es: 'Buscar', ja: '検索', 'zh-CN': '搜索' },
  searchTitle: {
    en: 'Search: {query}',
    de: 'Suche: {query}',
    fr: 'Recherche : {query}',
    es: 'Búsqueda: {query}',
    ja: '検索: {query}',
    'zh-CN': '搜索：{query}',
  },
  noMatches: {
    en: 'No guide contains these words.',
    de: 'Keine Anleitung enthält diese Wörter. Die Anleitungen sind auf Englisch.',
    fr: 'Aucun guide ne contient ces mots. Les guides sont en anglais.',
    es: 'Ninguna guía contiene estas palabras. Las guías están en inglés.',
    ja: 'これらの単語を含むガイドはありません。ガイドは英語で書かれています。',
    'zh-CN': '没有指南包含这些词。指南为英文。',
  },
  interface: {
    en: 'Interface description',
    de: 'Schnittstellenbeschreibung',
    fr: 'Description de l’interface',
    es: 'Descripción de la interfaz',
    ja: 'インターフェースの説明',
    'zh-CN': '接口说明',
  },
  interfaceSummary: {
    en: 'Every endpoint with its fields and examples.',
    de: 'Alle Endpunkte mit ihren Feldern und Beispielen.',
    fr: 'Tous les endpoints avec leurs champs et des exemples.',
    es: 'Todos los endpoints con sus campos y ejemplos.',
    ja: 'すべてのエンドポイントとそのフィールド、例。',
    'zh-CN': '所有端点及其字段和示例。',
  },
  onThisPage: {
    en: 'On this page',
    de: 'Auf dieser Seite',
    fr: 'Sur cette page',
    es: 'En esta página',
    ja: 'このページの内容',
    'zh-CN': '本页内容',
  },
});
