/**
 * Phrases that people say to show that they are listening, by language. They do not interrupt the
 * agent. Words that also object or ask for something (`no`, `wait`, `what`) are not included.
 */
export const backChannels = {
  en: phraseList`uh huh; uhhuh; ah; aha; oh; ooh; uh; um; eh; mhm; yeah; yea; yep; yup; ya; yes; ok; okay; kay; right; alright; all right; sure;
    i see; got it; gotcha; i got it; i understand; understood; go on; go ahead; continue; true; that's right; that's true; exactly; of course;
    good; great; nice; cool; fine; wow; really; indeed; makes sense; fair enough; i know; oh i see; very good; interesting; perfect`,
  de: phraseList`ja; jaja; jo; jep; joa; aha; ah; ach; ach so; achso; oh; äh; ähm; okay; ok; genau; richtig; stimmt; klar; alles klar; gut; sehr gut; schön;
    verstehe; ich verstehe; verstanden; weiter; natürlich; sicher; na klar; eben; super; toll; prima; gern; interessant; wirklich; in ordnung`,
  fr: phraseList`oui; ouais; ouaip; ah; ah oui; ah bon; oh; euh; ben; bon; bah; ok; okay; d'accord; d'acc; bien; très bien; bien sûr; voilà; c'est ça; exact;
    exactement; je vois; je comprends; compris; vas y; allez y; continue; continuez; super; parfait; vraiment; tout à fait; en effet; entendu`,
  es: phraseList`sí; ajá; ah; oh; eh; ya; ya veo; vale; ok; okay; bueno; bien; muy bien; claro; claro que sí; por supuesto; exacto; exactamente; entiendo;
    entendido; de acuerdo; sigue; siga; adelante; perfecto; genial; cierto; así es; comprendo; de veras; dale; listo`,
  it: phraseList`sì; già; ah; eh; oh; ah sì; ok; okay; va bene; bene; molto bene; certo; certamente; esatto; esattamente; giusto; capito; ho capito; capisco;
    d'accordo; vai; vai avanti; avanti; continua; perfetto; davvero; chiaro; ecco; infatti; ottimo`,
  pt: phraseList`sim; ah; ahã; aham; uhum; eh; é; oh; tá; tá bom; ok; okay; certo; claro; isso; exato; exatamente; entendi; entendo; percebo; pois; pois é;
    bom; bem; muito bem; está bem; tudo bem; de acordo; continua; continue; vai; perfeito; verdade; com certeza; beleza; legal`,
  nl: phraseList`ja; jaja; jawel; jep; aha; ah; oh; ah ja; oh ja; eh; uh; oké; ok; okay; goed; heel goed; precies; klopt; inderdaad; juist; natuurlijk; zeker;
    ik snap het; snap ik; ik begrijp het; begrepen; ga door; ga verder; mooi; prima; duidelijk; echt; uiteraard; leuk`,
  ja: phraseList`はい; うん; ええ; え; へえ; ああ; あー; おお; ほう; ふーん; そう; そうですね; そうですか; そうなんですか; そうなんだ; そうだね; なるほど; なるほどね; わかりました;
    わかった; 分かりました; 分かった; 了解; 了解です; オーケー; たしかに; 確かに; 本当; ほんと; いいですね; どうぞ; 続けて; 続けてください`,
  zh: phraseList`嗯; 嗯哼; 哦; 噢; 啊; 唔; 对; 对的; 對; 對的; 是; 是的; 是啊; 好; 好的; 好啊; 行; 可以; 没错; 沒錯; 明白; 明白了; 知道了; 我知道; 了解; 懂了; 当然; 當然; 真的; 继续; 繼續; 请继续; 说吧; 原来如此; 原來如此`,
} as const satisfies Record<string, readonly string[]>

function phraseList(list: TemplateStringsArray): readonly string[] {
  return String(list).split(/;\s*/)
}

export interface BackChannel {
  /** True if the text consists of back-channel phrases only. False for a text without words. */
  matches(text: string): boolean
  /**
   * Classifies text that may be cut off in the middle of a word. The last word is then often wrong
   * and counts little. A text without words is `unsure`.
   */
  classifyPartial(text: string): 'harmless' | 'unsure' | 'intended'
}

/** Matches these phrases in any order, number and spelling: `Yeah, yeah … OKAY!`, `Mm-hmm.` */
export function backChannel(phrases: readonly string[]): BackChannel {
  const known = phrases.map(tokenize).filter((tokens) => tokens.length > 0)

  /**
   * Whether the tokens are known phrases only. With `cutOff`, the last phrase may be incomplete.
   */
  function covers(tokens: readonly string[], { cutOff = false } = {}): boolean {
    const reached = new Set([0])
    for (let at = 0; at < tokens.length; at++) {
      if (!reached.has(at)) continue
      if (isHum(tokens[at] ?? '')) reached.add(at + 1)
      const rest = tokens.slice(at)
      for (const phrase of known) {
        if (phrase.every((token, index) => token === rest[index])) reached.add(at + phrase.length)
        else if (cutOff && phrase.join(' ').startsWith(rest.join(' '))) return true
      }
    }
    return reached.has(tokens.length)
  }

  return {
    matches(text) {
      const tokens = tokenize(text)
      return tokens.length > 0 && covers(tokens)
    },
    classifyPartial(text) {
      const tokens = tokenize(text)
      if (tokens.length === 0) return 'unsure'
      const certain = tokens.slice(0, -1)
      if (covers(tokens, { cutOff: true }) || (certain.length > 0 && covers(certain))) return 'harmless'
      return covers(certain, { cutOff: true }) ? 'unsure' : 'intended'
    },
  }
}

/** `Mm`, `hmm`, `mhm`: there is no standard spelling. */
function isHum(token: string): boolean {
  return /^[hmn]+$/.test(token)
}

/**
 * Words without case, accents and punctuation, with repeated letters collapsed (`yeaaah`, `Mmm`,
 * `あー`). In scripts without spaces, each character is a token. Apostrophes join, hyphens split.
 */
function tokenize(text: string): string[] {
  const plain = text
    .normalize('NFKD')
    .replace(/[\p{M}'’ʼー]/gu, '')
    .toLowerCase()
    .replace(/(\p{L})\1+/gu, '$1')
    .replace(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu, ' $& ')
  return plain.match(/[\p{L}\p{N}]+/gu) ?? []
}
