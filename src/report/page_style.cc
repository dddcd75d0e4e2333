#include "report/page_style.h"

namespace stint {

std::string_view page_style() {
  return R"css(
:root{color-scheme:light dark;--paper:#fdfdfb;--ink:#1c1e21;--soft:#5d636b;--line:#d9d8d2;--panel:#f4f3ee;--accent:#17527a;
--good:#23704a;--warn:#9a6200;--bad:#a8322a;--c1:#17527a;--c2:#5b93b8;--c3:#7a9a5b;--c4:#c79a3c;--c5:#8a7aa8;--c6:#a9b0b5;--c7:#c9b8a0;--c8:#b5695f;--none:#e9d9c6}
@media (prefers-color-scheme:dark){:root{--paper:#14171a;--ink:#e7e6e1;--soft:#9aa2aa;--line:#33393f;--panel:#1c2126;--accent:#7fb8dd;
--good:#6fc296;--warn:#e0ab4e;--bad:#ee8a80;--c1:#7fb8dd;--c2:#4d84a8;--c3:#9cbc7c;--c4:#dcb356;--c5:#ab9bd0;--c6:#737c84;--c7:#95866f;--c8:#cf8177;--none:#3d342a}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 "Source Sans 3","Inter","Segoe UI","Helvetica Neue",Arial,sans-serif;
font-variant-numeric:tabular-nums lining-nums}
main{max-width:1120px;margin:0 auto;padding:40px 28px 64px}
header{border-bottom:2px solid var(--ink);padding-bottom:18px;margin-bottom:28px}
.kicker{font-size:12px;letter-spacing:.09em;text-transform:uppercase;color:var(--soft);margin:0 0 6px}
h1{font-size:34px;line-height:1.15;margin:0;font-weight:650;letter-spacing:-.012em;overflow-wrap:anywhere}
.subtitle{color:var(--soft);margin:8px 0 0}
section{margin:0 0 44px}
h2{font-size:20px;font-weight:650;margin:0 0 4px;letter-spacing:-.005em}
h3{font-size:14px;font-weight:650;margin:22px 0 8px}
.lead{color:var(--soft);margin:0 0 14px;max-width:76ch}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(160px,1fr));border:1px solid var(--line);border-width:1px 0;margin:0 0 40px}
.card{padding:14px 18px 14px 0}
.card+.card{border-left:1px solid var(--line);padding-left:18px}
.card .label{font-size:12.5px;color:var(--soft)}
.card .value{font-size:25px;font-weight:650;line-height:1.25;letter-spacing:-.01em;white-space:nowrap}
.card .note{font-size:12.5px;color:var(--soft)}
.contents{position:sticky;top:0;z-index:1;display:flex;flex-wrap:wrap;gap:2px 16px;background:var(--paper);border-bottom:1px solid var(--line);
padding:8px 0;margin:-28px 0 36px;font-size:13.5px}
section,details .inside>div[id]{scroll-margin-top:72px}
.annex{display:none}
.group{display:grid;grid-template-columns:180px minmax(0,1fr);gap:0 18px;border-top:1px solid var(--line);align-items:start}
.group>h3{margin:14px 0 0;overflow-wrap:anywhere}.group>.cards{border:0;margin:0;grid-template-columns:repeat(auto-fill,minmax(170px,1fr))}
.group:last-child{border-bottom:1px solid var(--line)}
.group .card{border-left:0;padding:14px 18px 14px 0}.group .card .label{min-height:1.5em}
.good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad)}.muted{color:var(--soft)}.strong{font-weight:650}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13.5px}
th,td{padding:6px 14px 6px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);font-weight:400}
thead th{font-size:12px;color:var(--soft);vertical-align:bottom;border-bottom:1px solid var(--ink)}
td.r,th.r{text-align:right}td.r{white-space:nowrap}.short{white-space:nowrap}
td:last-child,th:last-child{padding-right:0}
tr.total td,tr.total th{font-weight:650;border-top:1px solid var(--ink);border-bottom:0}
tbody th{overflow-wrap:anywhere;min-width:9em}
.badge{white-space:nowrap}
.badge::before{content:"";display:inline-block;width:8px;height:8px;border-radius:50%;background:currentColor;margin-right:6px}
.badge b{font-weight:400;color:var(--ink)}
details{border-bottom:1px solid var(--line)}
details>summary{cursor:pointer;padding:10px 0;list-style:none;display:grid;grid-template-columns:22px minmax(0,1fr) auto;gap:6px;align-items:baseline}
details>summary::-webkit-details-marker{display:none}
details>summary::before{content:"+";color:var(--soft);font-weight:650}
details[open]>summary::before{content:"–"}
details>summary:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
details .inside{padding:0 0 18px 28px}
.finding-title{font-weight:600;overflow-wrap:anywhere}
.finding-meta{font-size:12.5px;color:var(--soft);display:flex;flex-wrap:wrap;gap:2px 16px;font-weight:400}
.finding-amount{font-weight:650;font-size:17px;white-space:nowrap;text-align:right}
dl{display:grid;grid-template-columns:minmax(120px,max-content) 1fr;gap:3px 20px;margin:0;font-size:13.5px}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
ul,ol{margin:0;padding-left:20px;font-size:13.5px}
li{margin:2px 0;overflow-wrap:anywhere}
pre{background:var(--panel);border-left:3px solid var(--accent);padding:10px 14px;margin:0 0 8px;font:12.5px/1.5 "JetBrains Mono",ui-monospace,
"DejaVu Sans Mono",Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
code{font:.92em "JetBrains Mono",ui-monospace,"DejaVu Sans Mono",Consolas,monospace;overflow-wrap:anywhere}
svg{display:block;width:100%;height:auto;font-size:12px;overflow:visible}
svg text{fill:var(--ink)}svg .soft{fill:var(--soft)}svg .axis{stroke:var(--line);stroke-width:1}svg .frame{stroke:var(--ink);stroke-width:1;fill:none}
svg .goal{stroke:var(--good);stroke-width:1.5;stroke-dasharray:5 4}svg .goal-text{fill:var(--good)}
svg .point{fill:var(--accent);fill-opacity:.62;stroke:var(--paper)}
svg .curve{fill:none;stroke:var(--soft);stroke-width:1.2;stroke-dasharray:2 3}
svg .saving{fill:var(--good)}svg .gap{fill:var(--c2)}svg .whole{fill:var(--c6)}svg .after{fill:var(--accent)}
svg .s1{fill:var(--c1)}svg .s2{fill:var(--c2)}svg .s3{fill:var(--c3)}svg .s4{fill:var(--c4)}svg .s5{fill:var(--c5)}svg .s6{fill:var(--c6)}svg .s7{fill:var(--c7)}svg .s8{fill:var(--c8)}
svg .l1,svg .l2,svg .l3,svg .l4,svg .l5,svg .l6{fill:none;stroke-width:1.6;stroke-linejoin:round}svg .w1{stroke-width:3.4}svg .w2{stroke-width:5.2}svg .w3{stroke-width:7}svg .w4{stroke-width:8.8}svg .l1{stroke:var(--c1)}svg .l2{stroke:var(--c8)}svg .l3{stroke:var(--c3)}
svg .l4{stroke:var(--c4)}svg .l5{stroke:var(--c5)}svg .l6{stroke:var(--c6)}
svg .heat{fill:var(--accent)}svg .none{fill:var(--none)}
.chart svg{max-width:860px}
.bars{display:grid;grid-template-columns:minmax(120px,26%) minmax(0,1fr) max-content;gap:7px 14px;align-items:center;font-size:13.5px}
.bars svg{height:16px}
.bar-label{line-height:1.25;overflow-wrap:anywhere;display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:3;overflow:hidden}
.bar-figure{text-align:right;white-space:pre}
.strips{row-gap:2px;font-size:12px}.strips svg{height:13px}.strips .bar-figure{color:var(--soft)}
.strips .bar-label{display:block;text-overflow:ellipsis;white-space:nowrap}
.days{display:grid;grid-template-columns:repeat(7,1fr);color:var(--soft)}.days span{border-left:1px solid var(--line);padding-left:4px}
.ramp{display:flex;align-items:center;gap:8px;margin-top:12px;font-size:12.5px;color:var(--soft)}.ramp svg{width:110px;height:10px}
.ramp svg+span+svg{width:14px;margin-left:14px}
.bars+.scroll,.legend+.scroll{margin-top:22px}
a{color:var(--accent);text-underline-offset:2px;white-space:nowrap}.bar-label a{color:inherit;white-space:normal;text-decoration-color:var(--line)}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:12.5px;color:var(--soft);margin:8px 0 0}
.legend span::before{content:"";display:inline-block;width:10px;height:10px;margin-right:6px;background:var(--swatch)}
footer{border-top:1px solid var(--line);padding-top:14px;color:var(--soft);font-size:12.5px}
@media (max-width:640px){.contents{position:static;margin-top:-16px}.group{grid-template-columns:minmax(0,1fr)}.group>.cards{grid-template-columns:repeat(2,1fr)}main{padding:24px 16px 48px}h1{font-size:26px}.card,.card+.card{padding:10px 12px 10px 0;border-left:0}
.cards{grid-template-columns:repeat(2,1fr)}.card .value{font-size:20px}dl{grid-template-columns:1fr}dt{margin-top:6px}
details>summary{grid-template-columns:16px minmax(0,1fr)}.finding-amount{grid-column:2;text-align:left}details .inside{padding-left:16px}
.chart{overflow-x:auto}.chart svg{min-width:620px}
.bars{grid-template-columns:minmax(0,1fr) max-content;gap:2px 12px;grid-auto-flow:dense}.bars svg{grid-column:1/-1;margin-bottom:8px}
.strips{grid-template-columns:72px minmax(0,1fr) max-content;gap:2px 8px}.strips svg{grid-column:auto;margin:0}.days span{padding-left:1px;font-size:10px}}
@media print{@page{size:A4;margin:13mm 14mm}:root{--paper:#fff;--ink:#000;--soft:#555;--line:#ccc;--panel:#f5f5f5;--accent:#17527a;--good:#23704a;--warn:#8a5800;
--bad:#a8322a;--c1:#17527a;--c2:#5b93b8;--c3:#7a9a5b;--c4:#c79a3c;--c5:#8a7aa8;--c6:#a9b0b5;--c7:#c9b8a0;--c8:#b5695f;--none:#e9d9c6}
body{font-size:10.5pt;-webkit-print-color-adjust:exact;print-color-adjust:exact}main{max-width:none;padding:0}h1{font-size:22pt}
h2,h3{break-after:avoid}.chart,.card,tr,details>summary,pre{break-inside:avoid}thead{display:table-header-group}
details::details-content{content-visibility:visible;block-size:auto}
details>summary::before{content:""}details>summary{grid-template-columns:0 minmax(0,1fr) auto}
pre{font-size:8.5pt}table{font-size:8.5pt}td,th{padding:3px 8px 3px 0}.scroll,.chart{overflow:visible}.bars{font-size:9pt;gap:4px 10px}.strips{row-gap:1px;font-size:7.5pt}.strips svg{height:10px}.card .value{font-size:14pt}.cards{grid-template-columns:repeat(6,auto)}.card{padding:8px 8px 8px 0}.card+.card{padding-left:8px}.card .label,.card .note{font-size:7.5pt}
details>summary{break-after:avoid}
tbody th{min-width:0}
.contents,.screen{display:none}.group>.cards{grid-template-columns:repeat(4,minmax(0,1fr))}.group{break-inside:avoid}
main{display:flex;flex-direction:column}header,section{margin-bottom:10pt}header{padding-bottom:6pt}.cards{margin-bottom:14pt}h2{font-size:13pt}.lead{font-size:9pt;margin-bottom:6pt;max-width:none}
ul,ol{font-size:8.5pt;margin:2pt 0;padding-left:14pt}li{margin:0}h3{margin:6pt 0 3pt}header .subtitle{font-size:9pt;margin:2pt 0 0}#curve .chart svg{max-width:84mm}
details>summary{padding:3pt 0}details .inside{padding-bottom:4pt}#goals details,#clients details{border:0}#goals .inside{padding-left:0}#clients summary{display:none}#clients .inside{padding:0}
#clients{break-inside:avoid}#idle{columns:2;column-gap:16pt}#idle>h2,#idle>.lead{column-span:all}#idle>h3,#idle>.bars{break-inside:avoid}#idle .bars{grid-template-columns:minmax(0,1fr) 34% max-content}
dl{font-size:8.5pt;gap:0 14pt}.bars svg{height:9pt}.bar-label a{text-decoration:none}
.annex{display:block;order:1;break-before:page;font-size:16pt;margin:0 0 10pt}#findings{order:2}#anomalies,#cluster,#fleet,#instances,#holders,#limits,#sources{order:3}footer{order:4}}
)css";
}

}  // namespace stint
