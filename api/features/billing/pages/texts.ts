import { defineTexts } from '../../../web/defineTexts.tsx';

/** Texts of the billing page. */
export const t = defineTexts({
  subscription: {
    en: 'Subscription',
    de: 'Abonnement',
    fr: 'Abonnement',
    es: 'Suscripción',
    ja: 'サブスクリプション',
    'zh-CN': '订阅',
  },
  noPlan: {
    en: 'No plan yet. Subscribe to receive credits every month.',
    de: 'Noch kein Tarif. Mit einem Abonnement erhalten Sie jeden Monat Credits.',
    fr: 'Aucun forfait pour le moment. Abonnez-vous pour recevoir des crédits chaque mois.',
    es: 'Todavía no tiene ningún plan. Suscríbase para recibir créditos cada mes.',
    ja: 'まだプランがありません。登録すると、毎月クレジットが付与されます。',
    'zh-CN': '暂无套餐。订阅后每月可获得积分。',
  },
  lastSubscription: {
    en: 'No active plan. The last subscription is {status, select, past_due {past due} unpaid {unpaid} incomplete {incomplete} canceled {canceled} other {active}}.',
    de: 'Kein aktiver Tarif. Das letzte Abonnement ist {status, select, past_due {überfällig} unpaid {unbezahlt} incomplete {unvollständig} canceled {gekündigt} other {aktiv}}.',
    fr: 'Aucun forfait actif. Le dernier abonnement est {status, select, past_due {en retard de paiement} unpaid {impayé} incomplete {incomplet} canceled {résilié} other {actif}}.',
    es: 'No hay ningún plan activo. La última suscripción está {status, select, past_due {vencida} unpaid {impagada} incomplete {incompleta} canceled {cancelada} other {activa}}.',
    ja: '有効なプランがありません。前回のサブスクリプションの状態: {status, select, past_due {支払い期限超過} unpaid {未払い} incomplete {未完了} canceled {解約済み} other {有効}}。',
    'zh-CN':
      '没有生效的套餐。上一个订阅的状态：{status, select, past_due {付款逾期} unpaid {未付款} incomplete {未完成} canceled {已取消} other {生效中}}。',
  },
  planState: {
    en: '{plan} plan: {credits, number} credits a month, {count, number} generations at a time{end, select, renews {, renews on {date}} ends {, ends on {date}} other {}}.',
    de: 'Tarif {plan}: {credits, number} Credits pro Monat, {count, number} Generierungen gleichzeitig{end, select, renews {, verlängert sich am {date}} ends {, endet am {date}} other {}}.',
    fr: 'Forfait {plan} : {credits, number} crédits par mois, {count, number} générations à la fois{end, select, renews {, renouvellement le {date}} ends {, fin le {date}} other {}}.',
    es: 'Plan {plan}: {credits, number} créditos al mes, {count, number} generaciones a la vez{end, select, renews {, se renueva el {date}} ends {, termina el {date}} other {}}.',
    ja: '{plan}プラン: 毎月{credits, number}クレジット、同時生成数{count, number}{end, select, renews {、{date}に更新} ends {、{date}に終了} other {}}。',
    'zh-CN':
      '{plan} 套餐：每月 {credits, number} 积分，可同时生成 {count, number} 个{end, select, renews {，将于 {date}续订} ends {，将于 {date}终止} other {}}。',
  },
  updateMethod: {
    en: 'The last payment failed. Update your payment method.',
    de: 'Die letzte Zahlung ist fehlgeschlagen. Aktualisieren Sie Ihre Zahlungsmethode.',
    fr: 'Le dernier paiement a échoué. Mettez à jour votre moyen de paiement.',
    es: 'El último pago ha fallado. Actualice su método de pago.',
    ja: '前回の支払いに失敗しました。支払い方法を更新してください。',
    'zh-CN': '上次付款失败，请更新您的付款方式。',
  },
  methodOnFile: {
    en: 'A payment method is on file.',
    de: 'Eine Zahlungsmethode ist hinterlegt.',
    fr: 'Un moyen de paiement est enregistré.',
    es: 'Hay un método de pago guardado.',
    ja: '支払い方法が登録されています。',
    'zh-CN': '已保存付款方式。',
  },
  noMethodOnFile: {
    en: 'No payment method is on file.',
    de: 'Es ist keine Zahlungsmethode hinterlegt.',
    fr: 'Aucun moyen de paiement n’est enregistré.',
    es: 'No hay ningún método de pago guardado.',
    ja: '支払い方法が登録されていません。',
    'zh-CN': '没有已保存的付款方式。',
  },
  openPortal: {
    en: 'Manage payment methods, invoices and cancellation',
    de: 'Zahlungsmethoden, Rechnungen und Kündigung verwalten',
    fr: 'Gérer les moyens de paiement, les factures et la résiliation',
    es: 'Gestionar los métodos de pago, las facturas y la cancelación',
    ja: '支払い方法、請求書、解約を管理',
    'zh-CN': '管理付款方式、发票和取消订阅',
  },
  giftCode: {
    en: 'Gift code',
    de: 'Geschenkcode',
    fr: 'Code cadeau',
    es: 'Código de regalo',
    ja: 'ギフトコード',
    'zh-CN': '礼品码',
  },
  code: { en: 'Code', de: 'Code', fr: 'Code', es: 'Código', ja: 'コード', 'zh-CN': '兑换码' },
  redeem: { en: 'Redeem', de: 'Einlösen', fr: 'Utiliser', es: 'Canjear', ja: '利用する', 'zh-CN': '兑换' },
});

/** Outcomes of the forms. */
export const OUTCOME_TEXTS = defineTexts({
  planActive: {
    en: 'Your plan is active.',
    de: 'Ihr Tarif ist aktiv.',
    fr: 'Votre forfait est actif.',
    es: 'Su plan está activo.',
    ja: 'プランが有効になりました。',
    'zh-CN': '您的套餐已生效。',
  },
  creditsAdded: {
    en: 'The credits are on your balance.',
    de: 'Die Credits sind Ihrem Guthaben gutgeschrieben.',
    fr: 'Les crédits ont été ajoutés à votre solde.',
    es: 'Los créditos están en su saldo.',
    ja: 'クレジットを残高に追加しました。',
    'zh-CN': '积分已存入您的余额。',
  },
  giftRedeemed: {
    en: 'The credits of the gift code are on your balance.',
    de: 'Die Credits des Geschenkcodes sind Ihrem Guthaben gutgeschrieben.',
    fr: 'Les crédits du code cadeau ont été ajoutés à votre solde.',
    es: 'Los créditos del código de regalo están en su saldo.',
    ja: 'ギフトコードのクレジットを残高に追加しました。',
    'zh-CN': '礼品码的积分已存入您的余额。',
  },
  autoTopupOn: {
    en: 'Automatic top-ups are on.',
    de: 'Die automatische Aufladung ist eingeschaltet.',
    fr: 'La recharge automatique est activée.',
    es: 'La recarga automática está activada.',
    ja: '自動チャージは有効です。',
    'zh-CN': '自动充值已开启。',
  },
  autoTopupOff: {
    en: 'Automatic top-ups are off.',
    de: 'Die automatische Aufladung ist ausgeschaltet.',
    fr: 'La recharge automatique est désactivée.',
    es: 'La recarga automática está desactivada.',
    ja: '自動チャージは無効です。',
    'zh-CN': '自动充值已关闭。',
  },
});

/** Plans to choose from. */
export const PLANS = defineTexts({
  lead: {
    en: 'Plans are billed yearly. Credits are granted monthly.',
    de: 'Tarife werden jährlich abgerechnet. Credits werden monatlich gutgeschrieben.',
    fr: 'Les forfaits sont facturés annuellement. Les crédits sont attribués chaque mois.',
    es: 'Los planes se facturan anualmente. Los créditos se asignan cada mes.',
    ja: 'プランは年払いです。クレジットは毎月付与されます。',
    'zh-CN': '套餐按年计费，积分按月发放。',
  },
  tax: {
    en: 'Tax is added at the checkout.',
    de: 'Steuern werden beim Bezahlen hinzugerechnet.',
    fr: 'Les taxes sont ajoutées lors du paiement.',
    es: 'Los impuestos se añaden al pagar.',
    ja: '税金は購入手続きの際に加算されます。',
    'zh-CN': '税费在结账时加收。',
  },
  free: {
    en: 'No payment processor is configured (development), so plans are free.',
    de: 'Es ist kein Zahlungsdienstleister konfiguriert (Entwicklung), deshalb sind Tarife kostenlos.',
    fr: 'Aucun prestataire de paiement n’est configuré (développement) : les forfaits sont donc gratuits.',
    es: 'No hay ningún procesador de pagos configurado (desarrollo), por lo que los planes son gratuitos.',
    ja: '決済サービスが設定されていないため（開発環境）、プランは無料です。',
    'zh-CN': '未配置付款服务商（开发环境），因此套餐免费。',
  },
  change: {
    en: "A larger plan starts as soon as it is paid, with the difference of this month's credits (except in the last month of the paid year). A smaller one starts at the next yearly renewal.",
    de: 'Ein größerer Tarif beginnt, sobald er bezahlt ist, mit der Differenz der Credits dieses Monats (außer im letzten Monat des bezahlten Jahres). Ein kleinerer beginnt mit der nächsten jährlichen Verlängerung.',
    fr: 'Un forfait supérieur commence dès son paiement, avec la différence des crédits de ce mois (sauf le dernier mois de l’année payée). Un forfait inférieur commence au prochain renouvellement annuel.',
    es: 'Un plan superior empieza en cuanto se paga, con la diferencia de los créditos de este mes (salvo en el último mes del año pagado). Uno inferior empieza en la próxima renovación anual.',
    ja: '上位プランは支払いが完了するとすぐに始まり、今月分のクレジットの差が付与されます（支払い済みの年の最終月を除く）。下位プランは次回の年次更新時に始まります。',
    'zh-CN':
      '升级套餐在付款后立即生效，并补发本月积分的差额（付费年度的最后一个月除外）。降级套餐在下次年度续订时生效。',
  },
  yourPlan: {
    en: 'Your plan',
    de: 'Ihr Tarif',
    fr: 'Votre forfait',
    es: 'Su plan',
    ja: '現在のプラン',
    'zh-CN': '当前套餐',
  },
  everyMonth: {
    en: '{credits, plural, one {# credit} other {# credits}} every month',
    de: '{credits, plural, one {# Credit} other {# Credits}} jeden Monat',
    fr: '{credits, plural, one {# crédit} other {# crédits}} chaque mois',
    es: '{credits, plural, one {# crédito} other {# créditos}} cada mes',
    ja: '毎月{credits, plural, other {#}}クレジット',
    'zh-CN': '每月 {credits, plural, other {#}} 积分',
  },
  oneBalance: {
    en: 'Video and image models on one balance',
    de: 'Video- und Bildmodelle mit einem Guthaben',
    fr: 'Modèles de vidéo et d’image sur un seul solde',
    es: 'Modelos de vídeo e imagen con un solo saldo',
    ja: '動画モデルと画像モデルをひとつの残高で利用',
    'zh-CN': '视频和图片模型共用一份余额',
  },
  apiAccess: {
    en: 'REST API access with personal keys',
    de: 'Zugang zur REST-API mit eigenen Schlüsseln',
    fr: 'Accès à l’API REST avec des clés personnelles',
    es: 'Acceso a la API REST con claves personales',
    ja: '個人用キーによるREST APIの利用',
    'zh-CN': '使用个人密钥访问 REST API',
  },
  subscribe: {
    en: 'Subscribe to {plan}',
    de: '{plan} abonnieren',
    fr: 'S’abonner à {plan}',
    es: 'Suscribirse a {plan}',
    ja: '{plan}に登録',
    'zh-CN': '订阅 {plan}',
  },
  changeTo: {
    en: 'Change to {plan}',
    de: 'Zu {plan} wechseln',
    fr: 'Passer à {plan}',
    es: 'Cambiar a {plan}',
    ja: '{plan}に変更',
    'zh-CN': '更改为 {plan}',
  },
});

/** Purchase of credits. */
export const TOPUP = defineTexts({
  buyCredits: {
    en: 'Buy credits',
    de: 'Credits kaufen',
    fr: 'Acheter des crédits',
    es: 'Comprar créditos',
    ja: 'クレジットを購入',
    'zh-CN': '购买积分',
  },
  lead: {
    en: 'You have {credits, number} credits. Credits that you buy do not expire, and are used after those of your plan.',
    de: 'Sie haben {credits, number} Credits. Gekaufte Credits verfallen nicht und werden nach denen Ihres Tarifs verbraucht.',
    fr: 'Vous avez {credits, number} crédits. Les crédits achetés n’expirent pas et sont utilisés après ceux de votre forfait.',
    es: 'Tiene {credits, number} créditos. Los créditos comprados no caducan y se usan después de los de su plan.',
    ja: '残高は{credits, number}クレジットです。購入したクレジットに有効期限はなく、プランのクレジットの後に使用されます。',
    'zh-CN': '您有 {credits, number} 积分。购买的积分不会过期，并在套餐积分用完后使用。',
  },
  planFirst: {
    en: 'Credits are sold with a plan: choose one first.',
    de: 'Credits sind nur mit einem Tarif erhältlich: Wählen Sie zuerst einen.',
    fr: 'Les crédits sont vendus avec un forfait : choisissez-en d’abord un.',
    es: 'Los créditos se venden con un plan: elija primero uno.',
    ja: 'クレジットの購入にはプランが必要です。まずプランを選択してください。',
    'zh-CN': '购买积分需要套餐：请先选择套餐。',
  },
  otherAmount: {
    en: 'Other amount',
    de: 'Anderer Betrag',
    fr: 'Autre montant',
    es: 'Otro importe',
    ja: 'その他の金額',
    'zh-CN': '其他金额',
  },
  otherAmountInDollars: {
    en: 'Other amount in US dollars',
    de: 'Anderer Betrag in US-Dollar',
    fr: 'Autre montant en dollars américains',
    es: 'Otro importe en dólares estadounidenses',
    ja: 'その他の金額（米ドル）',
    'zh-CN': '其他金额（美元）',
  },
  rate: {
    en: '{least} to {most}. One dollar buys {credits} credits at the rate of your plan.',
    de: '{least} bis {most}. Für einen Dollar erhalten Sie {credits} Credits zum Preis Ihres Tarifs.',
    fr: 'De {least} à {most}. Un dollar donne {credits} crédits au prix de votre forfait.',
    es: 'De {least} a {most}. Un dólar equivale a {credits} créditos al precio de su plan.',
    ja: '{least}から{most}まで。プランの単価では1ドルで{credits}クレジットを購入できます。',
    'zh-CN': '{least} 到 {most}。按您的套餐单价，1 美元可购买 {credits} 积分。',
  },
});

/** Page that is shown until a payment is confirmed. */
export const PENDING = defineTexts({
  waiting: {
    en: 'Waiting for payment',
    de: 'Warten auf die Zahlung',
    fr: 'En attente du paiement',
    es: 'Esperando el pago',
    ja: 'お支払いを確認しています',
    'zh-CN': '正在等待付款',
  },
  thanks: {
    en: 'Thank you. The payment processor has not confirmed your payment yet. This usually takes less than a minute.',
    de: 'Vielen Dank. Der Zahlungsdienstleister hat Ihre Zahlung noch nicht bestätigt. Das dauert normalerweise weniger als eine Minute.',
    fr: 'Merci. Le prestataire de paiement n’a pas encore confirmé votre paiement. Cela prend généralement moins d’une minute.',
    es: 'Gracias. El procesador de pagos aún no ha confirmado su pago. Suele tardar menos de un minuto.',
    ja: 'ありがとうございます。決済サービスによるお支払いの確認がまだ完了していません。通常は1分以内に完了します。',
    'zh-CN': '谢谢。付款服务商尚未确认您的付款，通常不到一分钟即可完成。',
  },
  reloads: {
    en: 'This page reloads every {seconds, number} seconds and continues when the payment is confirmed. You can close it: your plan or credits are added either way.',
    de: 'Diese Seite lädt alle {seconds, number} Sekunden neu und fährt fort, wenn die Zahlung bestätigt ist. Sie können sie schließen: Ihr Tarif oder Ihre Credits werden in jedem Fall freigeschaltet.',
    fr: 'Cette page se recharge toutes les {seconds, number} secondes et se poursuit lorsque le paiement est confirmé. Vous pouvez la fermer : votre forfait ou vos crédits seront ajoutés dans tous les cas.',
    es: 'Esta página se recarga cada {seconds, number} segundos y continúa cuando se confirma el pago. Puede cerrarla: su plan o sus créditos se añadirán de todos modos.',
    ja: 'このページは{seconds, number}秒ごとに再読み込みされ、お支払いが確認されると次に進みます。閉じても、プランまたはクレジットは追加されます。',
    'zh-CN': '此页面每 {seconds, number} 秒刷新一次，付款确认后会自动继续。您可以关闭此页面：套餐或积分仍会添加。',
  },
});

/** Trouble with payments and credits that every page of the account area shows. */
export const NOTICES = defineTexts({
  paymentFailed: {
    en: 'Your last payment failed. You can create generations until <time></time> (UTC).',
    de: 'Ihre letzte Zahlung ist fehlgeschlagen. Sie können bis <time></time> (UTC) Generierungen erstellen.',
    fr: 'Votre dernier paiement a échoué. Vous pouvez créer des générations jusqu’au <time></time> (UTC).',
    es: 'Su último pago ha fallado. Puede crear generaciones hasta el <time></time> (UTC).',
    ja: '前回の支払いに失敗しました。<time></time>（UTC）まで生成を作成できます。',
    'zh-CN': '您上次付款失败。在 <time></time> (UTC) 之前您仍可创建生成。',
  },
  updateMethod: {
    en: 'Update the payment method',
    de: 'Zahlungsmethode aktualisieren',
    fr: 'Mettre à jour le moyen de paiement',
    es: 'Actualizar el método de pago',
    ja: '支払い方法を更新',
    'zh-CN': '更新付款方式',
  },
  switchOnAgain: {
    en: 'Switch them on again',
    de: 'Wieder einschalten',
    fr: 'La réactiver',
    es: 'Volver a activarla',
    ja: '再度有効にする',
    'zh-CN': '重新开启',
  },
  lowBalance: {
    en: 'Your balance is low: {credits, plural, one {# credit} other {# credits}}.',
    de: 'Ihr Guthaben ist niedrig: {credits, plural, one {# Credit} other {# Credits}}.',
    fr: 'Votre solde est faible : {credits, plural, one {# crédit} other {# crédits}}.',
    es: 'Su saldo es bajo: {credits, plural, one {# crédito} other {# créditos}}.',
    ja: '残高が少なくなっています: {credits, plural, other {#}}クレジット。',
    'zh-CN': '您的余额不足：{credits, plural, other {#}} 积分。',
  },
});
