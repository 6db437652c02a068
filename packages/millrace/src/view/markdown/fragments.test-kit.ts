import fc from 'fast-check'

const words = 'wa¦wb ¦wc¦ wd¦we. ¦Wf¦日本。¦e\u0301¦😀¦h¦http¦https://wy.z/¦1¦x'
const blanks = ' ¦  ¦    ¦\t¦\n¦\n\n¦\r\n'
const marks = '*¦**¦***¦_¦__¦~¦~~¦`¦``¦```¦~~~¦```js\n¦\\¦&¦&amp;¦&#38;¦;'
const links = '[¦]¦](¦](https://wx.y/¦)¦!¦![¦<¦>¦<br>¦<https://wz>¦<!--¦-->'
const lines = '|¦| ¦\\|¦\n|¦|---|\n¦\n| a |\n|---|\n| ¦-¦- ¦\n- ¦> ¦\n> ¦1. ¦\n2) ¦+ ¦• '
const starts = '# ¦\n## ¦ ##¦#¦---¦***\n¦[ ] ¦[x] ¦==='
const points = '.¦. ¦? ¦,¦"¦\'¦(¦。¦«¦$¦='

/** Random fragments of Markdown. */
export const fragments = fc.constantFrom(
  ...[words, blanks, marks, links, lines, starts, points].join('¦').split('¦'),
)
