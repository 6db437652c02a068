import { h, render } from 'preact'
import { Markdown } from '../../../packages/inspector/markdown/markdown.tsx'
import { box, player } from './player.ts'

// The page's own component. All of these use the page's fonts and colors.

const text = { pieces: [] as string[], chars: 0, closed: false }
let version = 0

player((pieces) => {
  text.pieces.push(...pieces)
  render(h(Markdown, { text, version: ++version }), box)
})
