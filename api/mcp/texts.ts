import { defineTexts } from '../web/defineTexts.tsx';

/** Texts of the page about the endpoint. Its tools are described in English, as to their clients. */
export const t = defineTexts({
  title: {
    en: 'MCP server',
    de: 'MCP-Server',
    fr: 'Serveur MCP',
    es: 'Servidor MCP',
    ja: 'MCPサーバー',
    'zh-CN': 'MCP 服务器',
  },
  heading: {
    en: 'This is an MCP server',
    de: 'Dies ist ein MCP-Server',
    fr: 'Ceci est un serveur MCP',
    es: 'Esto es un servidor MCP',
    ja: 'これはMCPサーバーです',
    'zh-CN': '这是一个 MCP 服务器',
  },
  lead: {
    en: 'It lets AI assistants create images and videos with the credits of your {brand} account. You do not need to open it in a browser.',
    de: 'Damit können KI-Assistenten mit den Credits Ihres {brand}-Kontos Bilder und Videos erstellen. Sie müssen ihn nicht im Browser öffnen.',
    fr: 'Il permet aux assistants IA de créer des images et des vidéos avec les crédits de votre compte {brand}. Il n’est pas nécessaire de l’ouvrir dans un navigateur.',
    es: 'Permite que los asistentes de IA creen imágenes y vídeos con los créditos de su cuenta de {brand}. No es necesario abrirlo en un navegador.',
    ja: 'AIアシスタントが{brand}アカウントのクレジットを使って画像や動画を作成できます。ブラウザーで開く必要はありません。',
    'zh-CN': '它让 AI 助手使用您 {brand} 账户的积分创建图片和视频。您无需在浏览器中打开它。',
  },
  withKey: {
    en: 'If an assistant cannot open a browser, give it an API key of <link>your account</link> as the header <code>Authorization: Bearer svc_…</code>.',
    de: 'Wenn ein Assistent keinen Browser öffnen kann, geben Sie ihm einen API-Schlüssel <link>Ihres Kontos</link> als Header <code>Authorization: Bearer svc_…</code>.',
    fr: 'Si un assistant ne peut pas ouvrir de navigateur, donnez-lui une clé API de <link>votre compte</link> dans l’en-tête <code>Authorization: Bearer svc_…</code>.',
    es: 'Si un asistente no puede abrir un navegador, dele una clave de API de <link>su cuenta</link> en el encabezado <code>Authorization: Bearer svc_…</code>.',
    ja: 'アシスタントがブラウザーを開けない場合は、<link>アカウント</link>のAPIキーをヘッダー<code>Authorization: Bearer svc_…</code>で渡してください。',
    'zh-CN':
      '如果助手无法打开浏览器，请将<link>您账户</link>的 API 密钥作为标头 <code>Authorization: Bearer svc_…</code> 提供给它。',
  },
  tools: { en: 'Tools', de: 'Tools', fr: 'Outils', es: 'Herramientas', ja: 'ツール', 'zh-CN': '工具' },
});
