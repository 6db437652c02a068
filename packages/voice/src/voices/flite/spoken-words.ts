/** A word of a text, and its spelling for flite. */
export interface SpokenForm {
  /** `text.slice(start, end)`, including adjacent punctuation. */
  readonly start: number
  readonly end: number
  /** One or a few words in printable ASCII; never empty. */
  readonly spoken: string
}

/** Longer runs of letters are split: flite takes quadratic time for a word. */
const maxWordLength = 60
/** The characters synthesized at a time: about 15 s of audio. */
const maxPieceLength = 240

const wordPattern = new RegExp(`[^\\s\\p{Cc}\\u2014]{1,${maxWordLength}}`, 'gu')

/** The words that an English voice can speak. Other scripts, emoji and NUL are left out. */
export function spokenWords(text: string): SpokenForm[] {
  return [...text.matchAll(wordPattern)].flatMap(({ 0: word, index }) => {
    const dash = text[index + word.length] === '—'
    const spoken = asciiOf(word)
    if (!/[a-z\d%&+=@#$]/i.test(spoken)) return []
    return [{ start: index, end: index + word.length, spoken: dash ? `${spoken},` : spoken }]
  })
}

/** Splits long text at punctuation, or else between two words. */
export function splitPieces(words: readonly SpokenForm[]): SpokenForm[][] {
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
  let lastPause = 0
  for (const { spoken } of words) {
    length += spoken.length + 1
    if (length > maxPieceLength && fitting > 0) return lastPause || fitting
    fitting++
    if (/[.!?;:,]['")\]]*$/.test(spoken)) lastPause = fitting
  }
  return fitting
}

const replacements = new Map(
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
    .replace(/[^\x20-\x7e]|&/g, (character) => replacements.get(character) ?? character)
    .normalize('NFKD')
    .replace(/⁄/g, '/')
    .replace(/[^\x20-\x7e]/g, '')
    .replace(/ +/g, ' ')
    .trim()
}
