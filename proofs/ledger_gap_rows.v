(** * The ledger decides: gates with gaps, with their noise

    As ledger_rows.v, for the gates that release with each ABOVE how far it was above the threshold: those that the
    service opens unless they are two-sided. [None] is BELOW, [Some g] is ABOVE with the gap g. The ledger counts the
    L(m, k) of ledger_gap_losses.v; the noise is that of [exponential_gap.v] or [laplace_gap.v].

    - A gate is a [row] (metered_rows.v) of rational numbers, not two-sided ([proper_gap_row]).
    - [gap_law_of p]: what the ledger knows of it. What answers cost is [gap_meter] (metered_gates.v).

    [gaps_metered_by_the_ledger]: the ledger's L(m, k) is no less than what the answers of the gate cost.
    [ledger_gap_rows_are_private]: under a budget B the joint history of all gates that the ledger lets happen is
    B-DP, opened, asked, lost and shut as one likes. [ledger_gap_rows_sum_to_one]: it is a whole law. *)

From mathcomp Require Import rat.
From Sparsegate Require Import prelude privacy laplace geometric transcripts gap exponential_gap laplace_gap side_by_side.
From Sparsegate Require Import metered_rows metered_gates ledger_privacy ledger_rows.
From Sparsegate Require ledger_gates ledger_gap_losses.
Local Open Scope ring_scope.

Module Q := ledger_gap_losses.

Section Law.
Implicit Types (p : row [choiceType of rat]).
Variable most : row [choiceType of rat] -> option nat.

Definition proper_gap_row p := proper_row p && ~~ two_sided p.

Definition gap_law_of p : G.spec :=
  let the (gate : forall e r : rat, nat -> option nat -> 0 <= e -> 0 <= r -> G.spec) :=
    gate _ _ (cutoff p) (most p) (share_ge0 p) (step_ge0 p) in
  if one_sided_noise p then
    if monotonic p then the Q.exponential_gap_monotonic_gate else the Q.exponential_gap_general_gate
  else if monotonic p then the Q.laplace_gap_monotonic_gate else the Q.laplace_gap_general_gate.

Definition gap_loss_row p :=
  if one_sided_noise p then
    if monotonic p then Q.exponential_gap_monotonic (share p) (rate_of p) else Q.exponential_gap_general (share p) (rate_of p)
  else if monotonic p then Q.laplace_gap_monotonic (share p) (rate_of p) else Q.laplace_gap_general (share p) (rate_of p).

Lemma gap_law_loss p m k : G.loss (gap_law_of p) m k = gap_loss_row p m k.
Proof. by rewrite /gap_law_of /gap_loss_row; case: (one_sided_noise p); case: (monotonic p). Qed.

Lemma gap_law_grows p m k m' k' : (m <= m')%N -> (k <= k')%N ->
  G.loss (gap_law_of p) m k <= G.loss (gap_law_of p) m' k'.
Proof.
move=> le_m le_k; rewrite !gap_law_loss /gap_loss_row; have e0 := share_ge0 p; have r0 := step_ge0 p.
case: (one_sided_noise p); case: (monotonic p).
- exact: Q.exponential_gap_grows.
- exact: Q.exponential_gap_grows.
- exact: Q.laplace_gap_monotonic_grows.
exact: Q.laplace_gap_general_grows.
Qed.

End Law.

Section Gates.
Context {R : realType}.
Notation rows := [choiceType of row [choiceType of rat]].
Notation history := (@history rows [choiceType of option int]).
Implicit Types (p : rows) (q T : rows -> history -> int) (s : seq (option int)).
Variables (most : rows -> option nat) (refund : rows -> bool) (lost : history -> seq nat) (B : rat).
Local Notation real p := (real_row p : row R).

Lemma bigmax_largest (F : nat -> R) (f : nat -> rat) k : (forall h, F h = ratr (f h)) ->
  \big[Num.max/0]_(h < k.+1) F h <= ratr (G.largest [seq f h | h <- iota 0 k.+1]).
Proof.
move=> same; apply: bigmax_le => [|h _]; first by rewrite ler0q Q.largest_pos.
by rewrite same ler_rat; apply: G.le_largest; apply/map_f; rewrite mem_iota add0n ltn_ord.
Qed.

Theorem gaps_metered_by_the_ledger p s : proper_gap_row p ->
  gap_meter (real p) s <= ratr (loss_of (gap_law_of most) isSome p s).
Proof.
case/andP=> /and5P[_ _ e1 e2 _] _; rewrite /loss_of gap_law_loss /gap_meter /gap_meter_of /gap_loss_row.
rewrite -[one_sided_noise (real p)]/(one_sided_noise p) -[monotonic (real p)]/(monotonic p).
have shareE : ratr (share p) = eps1 (real p) by rewrite /share gtr0_norm.
have stepE : ratr (rate_of p) = rate (real p) by rewrite /rate_of gtr0_norm // /rate fmorph_div /= ratr_nat.
have e0 := share_ge0 p; have r0 := step_ge0 p.
rewrite -shareE -stepE; move: (count (predC isSome) s) (count isSome s) (share p) (rate_of p) e0 r0 => m k e r e0 r0.
have timesE n : n%:R * ratr r = ratr (n%:R * r) :> R by rewrite rmorphM /= ratr_nat.
have moreE (x : rat) : ratr e + ratr x = ratr (e + x) :> R by rewrite rmorphD.
have minE (x y : rat) : Num.min (ratr x) (ratr y) = ratr (Num.min x y) :> R by rewrite ratr_min.
case: (one_sided_noise p); case: (monotonic p) => /=.
- rewrite !timesE !moreE /Q.exponential_gap_monotonic /Q.exponential_gap mul1n.
  case: (0 < m)%N; first by rewrite -ratr_max ler_rat le_maxl lexx ler_addr.
  case: k => [|k] /=; first by rewrite mul0r !rmorph0 maxxx.
  by rewrite -ratr_max ler_rat mul1n maxC.
- rewrite !timesE !moreE /Q.exponential_gap_general /Q.exponential_gap.
  by case: (0 < m)%N => //; case: k => [|k] /=; rewrite ?rmorph0 // -ratr_max.
- rewrite /Q.laplace_gap_monotonic ratr_max le_maxl !le_maxr; apply/andP; split; apply/orP; [left|right].
    apply: (bigmax_largest (F := fun h => Num.min ((m + h)%:R * ratr r) (ratr e + (k - h)%:R * ratr r))
      (f := fun h => Num.min ((m + h)%:R * r) (e + (k - h)%:R * r))) => h.
    by rewrite !timesE moreE minE.
  apply: (bigmax_largest (F := fun h => Num.min ((k - h)%:R * ratr r) (ratr e + (m + h)%:R * ratr r))
    (f := fun h => Num.min ((k - h)%:R * r) (e + (m + h)%:R * r))) => h.
  by rewrite !timesE moreE minE.
by rewrite !timesE moreE minE.
Qed.

Definition ledger_gap_rows act q T n : {distr history / R} :=
  decided (fun p => threshold_noise (real p)) proper_gap_row (gap_law_of most) refund isSome B lost act
    (fun p h => gap_row_answer (real p) (q p h) (T p h)) n.

Theorem ledger_gap_rows_are_private act q q' T n :
  0 <= B -> (forall p, neighbours (monotonic p) (Delta p) (q p) (q' p)) ->
  within (ratr B) (ledger_gap_rows act q T n) (ledger_gap_rows act q' T n).
Proof.
move=> B0 near_q; apply: ledger_decides_privately => // [p m k m' k' _|p l ok]; first exact: gap_law_grows.
have near_p : neighbours (monotonic (real p)) (Delta (real p)) (q p) (q' p) by apply: near_q.
have /andP[/(@real_proper R) real_ok _] := ok.
apply: le_trans (gap_meter_ratio (T p) l real_ok near_p) _.
by rewrite ler_wpmul2r ?ge0_psum // ler_expR gaps_metered_by_the_ledger.
Qed.

Theorem ledger_gap_rows_sum_to_one act q T n : psum (ledger_gap_rows act q T n) = 1.
Proof.
apply: ledger_decides_a_whole_law => p => [|h x] /andP[/(@real_proper R) ok _].
  exact: threshold_noise_sums_to_one.
exact: gap_row_answer_sums_to_one.
Qed.

End Gates.
