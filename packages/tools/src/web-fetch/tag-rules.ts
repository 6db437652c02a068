/** The rules of HTML §13 for tags that close others, as far as they matter here. */

const set = (names: string): ReadonlySet<string> => new Set(names.split(' '))

const voids = set('area base br col embed hr img input link meta param source track wbr')

/** Elements whose content the tokenizer reads verbatim up to the end tag. */
const verbatims = set('script style title textarea iframe noembed noframes xmp plaintext')

const foreign = set('svg math')

const headings = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6']

/** These start tags end a paragraph. */
const paragraphEnds = set(
  `address article aside blockquote center details dialog dd div dl dt fieldset figcaption figure footer form ${headings.join(' ')} header hgroup hr li main menu nav ol p pre search section summary table ul`,
)

const tableParts = set('table caption thead tbody tfoot tr td th')

/** Tags inside these elements do not close elements outside. */
const scopes = set('table caption td th template object button')

const blocks: ReadonlySet<string> = new Set([
  ...paragraphEnds,
  ...tableParts,
  ...scopes,
  ...verbatims,
  ...foreign,
  ...set('body noscript select'),
])

const inScope = (name: string) => scopes.has(name)
const inTable = (name: string) => name === 'table' || name === 'template'
const inRow = (name: string) => name === 'tr' || inTable(name)
const inBlock = (name: string) => blocks.has(name)

interface Closing {
  readonly names: readonly string[]
  readonly isBarrier: (name: string) => boolean
}

const paragraph: Closing = { names: ['p'], isBarrier: inScope }
const cell: Closing = { names: ['td', 'th'], isBarrier: inRow }
const rows: Closing = { names: ['tr', 'thead', 'tbody', 'tfoot'], isBarrier: inTable }
const term: Closing = { names: ['dd', 'dt'], isBarrier: (name) => name === 'dl' || inScope(name) }
const item: Closing = {
  names: ['li'],
  isBarrier: (name) => name === 'ul' || name === 'ol' || name === 'menu' || inScope(name),
}

const further = new Map<string, readonly Closing[]>([
  ['li', [item, paragraph]],
  ['dd', [term, paragraph]],
  ['dt', [term, paragraph]],
  ['td', [cell]],
  ['th', [cell]],
  ['tr', [{ names: ['tr'], isBarrier: inTable }]],
  ['thead', [rows]],
  ['tbody', [rows]],
  ['tfoot', [rows]],
  ['a', [{ names: ['a'], isBarrier: inScope }]],
  ...headings.map((name) => [name, [paragraph, { names: headings, isBarrier: inBlock }]] as const),
])

const none: readonly Closing[] = []
const justParagraph = [paragraph]

/** Which elements a start tag closes. */
export function closedBy(name: string): readonly Closing[] {
  return further.get(name) ?? (paragraphEnds.has(name) ? justParagraph : none)
}

/**
 * How far an end tag reaches: the end tag of an inline element does not close the block around it.
 */
export function barriersFor(name: string): (name: string) => boolean {
  if (tableParts.has(name)) return inTable
  return blocks.has(name) ? inScope : inBlock
}

export const isVoid = (name: string) => voids.has(name)
export const isVerbatim = (name: string) => verbatims.has(name)
export const isForeign = (name: string) => foreign.has(name)
