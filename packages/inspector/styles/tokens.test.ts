import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const tokens = readFileSync(new URL('./tokens.css', import.meta.url), 'utf8')

/** The two values of each color: for the light and the dark theme. */
const colors = new Map(
  [...tokens.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(
    ([, name = '', light = '', dark = '']) => [name, { light, dark }],
  ),
)

/** The contrast ratio of two colors (WCAG 2.2, 1.4.3). */
function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

function luminance(color: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

const backs = ['back', 'back-2', 'back-3']
const pairs = (names: readonly string[], on: readonly string[]) =>
  names.flatMap((name) => on.map((back) => [name, back] as const))

const texts = [
  ...pairs(['text', 'text-2', 'accent', 'bad'], [...backs, 'accent-back']),
  ...pairs(['good', 'warn'], ['back', 'back-2']),
  ...pairs(['text', 'text-2'], ['good-back', 'bad-back', 'warn-back']),
  ...pairs(['text'], ['mark']),
  ['good', 'good-back'],
  ['bad', 'bad-back'],
  ['warn', 'warn-back'],
  ['on-accent', 'accent'],
  // Toasts have the colors of the other theme.
  ['back', 'text'],
] as const

const shapes = [
  ...pairs(['accent', 'line-2'], ['back', 'back-2']),
  ...pairs(
    ['think', 'text', 'input', 'run', 'bad'].map((phase) => `phase-${phase}`),
    ['back', 'back-2'],
  ),
]

test.each([
  ...texts.map(([name, back]) => ({ name, back, least: 4.5 })),
  ...shapes.map(([name, back]) => ({ name, back, least: 3 })),
])('--$name on --$back has a contrast of at least $least in both themes', ({ name, back, least }) => {
  const [one, other] = [colors.get(name), colors.get(back)]
  for (const theme of ['light', 'dark'] as const)
    expect(contrast(one?.[theme] ?? '', other?.[theme] ?? ''), theme).toBeGreaterThanOrEqual(least)
})

const inspector = join(import.meta.dirname, '..')
const styles = globSync('**/*.css', { cwd: inspector }).filter((path) => !path.endsWith('tokens.css'))

/** The declarations of a style sheet. Queries are not among them: they cannot use tokens. */
function declarationsOf(path: string): readonly string[] {
  const text = readFileSync(join(inspector, path), 'utf8').replace(/\/\*.*?\*\//gs, '')
  return [...text.matchAll(/(?<=[;{}\s])[\w-]+:\s[^;{}]+(?=[;}])/g)].map(([declaration]) => declaration)
}

test('there are style sheets', () => {
  expect(styles.length).toBeGreaterThan(15)
  expect(styles.flatMap(declarationsOf).length).toBeGreaterThan(1000)
})

test.each(styles)('%s takes its colors, sizes and times from the tokens', (path) => {
  const declarations = declarationsOf(path)
  const wrong = declarations.filter((declaration) =>
    [
      /#[\da-f]{3,8}\b|\b(?:rgb|hsl|hwb|lab|lch|oklab|oklch)a?\(|:\s*(?:white|black|red|gray)\b/i,
      /^(?:font-size|font-weight): [\d.]+(?:px|rem)?$/,
      // A default would hide that a token is missing.
      /var\(--[\w-]+, ?[\d.]+(?:px|rem|m?s)\)/,
    ].some((pattern) => pattern.test(declaration)),
  )
  // Up to 3 pixels is a line or an optical correction. A measure of one view has a name there.
  const sizes = declarations.filter(
    (one) => !one.startsWith('--') && /(?<![\d.])(?:[4-9]|\d\d+)(?:\.\d+)?px/.test(one),
  )
  expect([...wrong, ...sizes]).toEqual([])
})

test('every token that is used exists', () => {
  const all = ['styles/tokens.css', ...styles]
    .map((path) => readFileSync(join(inspector, path), 'utf8'))
    .join('\n')
  const defined = new Set([...all.matchAll(/(--[\w-]+):/g)].map(([, name]) => name))
  // Set by a component.
  for (const name of ['--panel', '--digits']) defined.add(name)
  const used = [...all.matchAll(/var\((--[\w-]+)/g)].map(([, name]) => name)
  expect(used.filter((name) => !defined.has(name))).toEqual([])
})
