/** A word of a text, and how it is written for flite. */
export interface SpokenForm {
  /** `text.slice(start, end)`, with the marks that cling to it. */
  readonly start: number
  readonly end: number
  /** Printable ASCII, one word or a few; never empty. */
  readonly spoken: string
}

/** A run of letters longer than this is nothing that anybody would say at a breath, and flite takes its square in time. */
const longestWord = 60
/** So much is synthesised at a time: about 15 s of sound. */
const longestPiece = 240

const wordPattern = new RegExp(`[^\\s\\p{Cc}\\u2014]{1,${longestWord}}`, 'gu')

/** The words of a text that can be said. Everything but what an English voice can read is left out: other scripts, emoji, NUL. */
export function spokenWords(text: string): SpokenForm[] {
  return [...text.matchAll(wordPattern)].flatMap(({ 0: word, index }) => {
    const dash = text[index + word.length] === '—'
    const spoken = asciiOf(word)
    if (!/[a-z\d%&+=@#$]/i.test(spoken)) return []
    return [{ start: index, end: index + word.length, spoken: dash ? `${spoken},` : spoken }]
  })
}

/** Cuts long text where a speaker would breathe, or else between two words. */
export function piecesOf(words: readonly SpokenForm[]): SpokenForm[][] {
  const pieces: SpokenForm[][] = []
  let rest = words
  while (rest.length > 0) {
    const count = pieceLength(rest)
    pieces.push(rest.slice(0, count))
    rest = rest.slice(count)
  }
  return pieces
}

function pieceLength(words: readonly SpokenForm[]): number {
  let length = 0
  let fitting = 0
  let breath = 0
  for (const { spoken } of words) {
    length += spoken.length + 1
    if (length > longestPiece && fitting > 0) return breath || fitting
    fitting++
    if (/[.!?;:,]['")\]]*$/.test(spoken)) breath = fitting
  }
  return fitting
}

const written = new Map(
  Object.entries({
    '’': "'",
    '‘': "'",
    ʼ: "'",
    '“': '"',
    '”': '"',
    '„': '"',
    '«': '"',
    '»': '"',
    '–': '-',
    '‑': '-',
    '−': '-',
    '¡': '',
    '¿': '',
    '&': ' and ',
    '°': ' degrees ',
    '×': ' times ',
    '÷': ' divided by ',
    '±': ' plus or minus ',
    '≈': ' about ',
    '≤': ' at most ',
    '≥': ' at least ',
    ß: 'ss',
    æ: 'ae',
    Æ: 'Ae',
    œ: 'oe',
    Œ: 'Oe',
    ø: 'o',
    Ø: 'O',
    ł: 'l',
    Ł: 'L',
    đ: 'd',
    ð: 'th',
    þ: 'th',
    Þ: 'Th',
    ı: 'i',
  }),
)

const currencies = new Map([
  ['€', 'euros'],
  ['£', 'pounds'],
  ['¥', 'yen'],
  ['₹', 'rupees'],
])

function asciiOf(word: string): string {
  return word
    .replace(
      /([€£¥₹])(\d(?:[\d.,]*\d)?)/g,
      (_, sign: string, amount: string) => `${amount} ${currencies.get(sign)}`,
    )
    .replace(/[€£¥₹]/g, (sign) => ` ${currencies.get(sign)}`)
    .replace(/[^\x20-\x7e]|&/g, (character) => written.get(character) ?? character)
    .normalize('NFKD')
    .replace(/⁄/g, '/')
    .replace(/[^\x20-\x7e]/g, '')
    .replace(/ +/g, ' ')
    .trim()
}
