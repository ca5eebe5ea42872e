import { defineTexts } from '../../../../web/defineTexts.tsx';

export const t = defineTexts({
  contents: {
    en: 'What it contains',
    de: 'Inhalt',
    fr: 'Contenu',
    es: 'Contenido',
    ja: '内容',
    'zh-CN': '包含的内容',
  },
  list: {
    en: 'One JSON file with everything that is stored about your account: profile, sign-in methods, sessions, API keys (without the keys themselves), connected applications, security log, generations with links to their files, ledger, subscriptions, top-ups, invoices, refunds, and your commissions and payouts as an affiliate.',
    de: 'Eine JSON-Datei mit allem, was zu Ihrem Konto gespeichert ist: Profil, Anmeldemethoden, Sitzungen, API-Schlüssel (ohne die Schlüssel selbst), verbundene Anwendungen, Sicherheitsprotokoll, Generierungen mit Links zu ihren Dateien, Credit-Verlauf, Abonnements, Aufladungen, Rechnungen, Erstattungen sowie Ihre Provisionen und Auszahlungen als Affiliate.',
    fr: 'Un fichier JSON avec tout ce qui est enregistré sur votre compte : profil, méthodes de connexion, sessions, clés API (sans les clés elles-mêmes), applications connectées, journal de sécurité, générations avec des liens vers leurs fichiers, historique des crédits, abonnements, recharges, factures, remboursements, ainsi que vos commissions et versements en tant qu’affilié.',
    es: 'Un archivo JSON con todo lo que se guarda sobre su cuenta: perfil, métodos de inicio de sesión, sesiones, claves de API (sin las claves en sí), aplicaciones conectadas, registro de seguridad, generaciones con enlaces a sus archivos, historial de créditos, suscripciones, recargas, facturas, reembolsos, y sus comisiones y pagos como afiliado.',
    ja: 'アカウントについて保存されているすべての情報を含む1つのJSONファイルです。プロフィール、ログイン方法、セッション、APIキー（キー自体は含みません）、接続済みのアプリケーション、セキュリティログ、生成とそのファイルへのリンク、クレジット履歴、サブスクリプション、チャージ、請求書、返金、アフィリエイトの報酬と支払いが含まれます。',
    'zh-CN':
      '一个 JSON 文件，包含为您的账户存储的所有信息：个人资料、登录方式、会话、API 密钥（不含密钥本身）、已连接的应用、安全日志、生成记录及其文件链接、积分记录、订阅、充值、发票、退款，以及您的联盟推广佣金和付款。',
  },
});
