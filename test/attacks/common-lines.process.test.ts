import { afterAll, expect, test } from 'vitest'
import { commonLines, settings } from './common-lines.ts'
import { openFixture, programPath } from './fixture.ts'
import { lineDecider } from './policies.ts'

const fixture = openFixture()
afterAll(() => fixture.close())

/** At least 125 of 134 lines. */
const enough = 125 / 134

test('common lines get the decisions that developers expect', async () => {
  expect(commonLines.length).toBeGreaterThanOrEqual(134)
  const place = { workspace: fixture.workspace, program: programPath('bash') ?? '/bin/sh' }
  const decide = lineDecider(settings, place)
  const differing: string[] = []
  for (const [line, ...expected] of commonLines) {
    const { readOnly, coding } = await decide(line)
    const decided = [readOnly, coding].join(', ')
    if (decided !== expected.join(', ')) differing.push(`${line}: ${decided}, not ${expected.join(', ')}`)
  }
  const agreed = commonLines.length - differing.length
  process.stderr.write(`${agreed} of ${commonLines.length} common lines get the expected decision, except\n`)
  process.stderr.write(`${differing.map((text) => `  ${text}\n`).join('')}`)
  if (agreed < commonLines.length * enough) expect(differing).toEqual([])
})
