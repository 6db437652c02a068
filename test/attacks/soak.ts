// node test/attacks/soak.ts [seconds] [seed]
import { setup } from '../system-packages.ts'
import { openFixture } from './fixture.ts'
import { fuzz } from './fuzz.ts'
import { canTry, openJail } from './jail.ts'

const [seconds = '60', given] = process.argv.slice(2)
const seed = given === undefined ? Date.now() % 2 ** 31 : Number(given)

await setup()
if (!canTry()) {
  process.stdout.write('soak: skipped, since it needs bubblewrap, bash, dash and busybox\n')
  process.exit(process.env.CI ? 1 : 0)
}
const fixture = openFixture()
try {
  process.stdout.write(`soak: ${seconds} s of lines from seed ${seed}\n`)
  const { lines, tried, breach } = await fuzz(fixture, openJail(fixture), {
    seed,
    milliseconds: Number(seconds) * 1000,
  })
  process.stdout.write(`soak: checked ${lines} lines for three shells, and ran ${tried} of them\n`)
  if (breach) {
    const { policy, shell, line } = breach
    process.stdout.write(
      `soak: with ${policy}, ${shell} was allowed to run ${JSON.stringify(line)}; the seed is ${seed}\n`,
    )
    process.exitCode = 1
  }
} finally {
  fixture.close()
}
